#!/bin/sh
# syncbn inspect: its table and its JSON of files that PyTorch wrote, what looks wrong, its exit
# statuses. Environment: srcdir, SYNCBN (the command). Runs in the build directory.

: "${srcdir:=.}" "${SYNCBN:=tools/syncbn/syncbn}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0

# result WHAT CONDITION...: passes when the command does.
result() {
    what=$1
    shift
    number=$((number + 1))
    if "$@"; then
        echo "ok $number - $what"
    else
        echo "not ok $number - $what"
        sed 's/^/# /' "$work/out" "$work/err"
    fi
}

# inspect EXPECTED_STATUS ARGUMENTS...
inspect() {
    expected=$1
    shift
    "$SYNCBN" inspect "$@" > "$work/out" 2> "$work/err"
    status=$?
    result "inspect ${*##*/}: exit status $expected, $status came" [ $status -eq "$expected" ]
}

# line WORDS...: a line has exactly these words.
line() {
    awk -v wanted="$*" '{ $1 = $1 } $0 == wanted { found = 1 } END { exit !found }' "$work/out"
}

data=$srcdir/tests/data
inspect 0 "$data/network_f32.safetensors"
result 'the first layer' line '1 4 F32 0.5109 ... 1.029 -0.1025 ... 0.112 1.033 ... 1.208 3'
result 'the second' line '4.1 6 F32 0.5326 ... 1.479 -0.2495 ... 0.2874 0.7357 ... 0.7375 3'
result 'and no more' [ "$(wc -l < "$work/out")" -eq 3 ]
inspect 0 "$data/network_v1.safetensors"
result 'version 1: no count' line '1 4 F32 0.5109 ... 1.029 -0.1025 ... 0.112 1.033 ... 1.208 -'

inspect 1 "$data/troubled.safetensors"
names=$(awk 'NR > 1 { printf "%s ", $1 }' "$work/out")
result "in order: $names" \
    [ "$names" = 'norm.2 norm.3 norm.4 norm.5 norm.6 norm.7 norm.8?[31m norm.10 ' ]
for wrong in 'norm.2 .* ! variance: negative in 1 of 2 channels' \
    'norm.3 .* 0  ! never trained: mean 0 and variance 1' \
    'norm.4 .* -  ! never trained: mean 0 and variance 1' \
    'norm.5 .* ! variance: 0 in 1 of 2 channels' \
    'norm.6 .* ! "norm.6.running_var": F32, F16 or BF16 of shape \[2\] was expected, F32 of \[3\] came' \
    'norm.7 .* ! mean: NaN or Inf in 2 of 2 channels; never trained: no batches tracked' \
    'norm.10 .* ! weight: NaN or Inf in 1 of 2 channels' \
    'norm.8?\[31m .* 123456'; do
    result "a line: $wrong" grep -q "^$wrong\$" "$work/out"
done

inspect 1 --json "$data/troubled.safetensors"
result 'JSON: a range' grep -q '"min": -2.0,' "$work/out"
result 'JSON: a count' grep -q '"num_batches_tracked": 123456,' "$work/out"
result 'JSON: no count' grep -q '"num_batches_tracked": null,' "$work/out"
result 'JSON: a problem' grep -q '"problems": "variance: negative in 1 of 2 channels"' "$work/out"
result 'JSON: what is not finite' grep -q '"not_finite": 2' "$work/out"

inspect 1 "$data/folded.safetensors"
result 'statistics without a count of batches' \
    grep -q '^conv.norm .* ! never trained: no batches tracked$' "$work/out"
# A right-to-left override, a C1 control character, an isolate, a byte order that is right, an e.
header='{"a\u202e\u009b\u2066\u00e9.running_mean":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a\u202e\u009b\u2066\u00e9.running_var":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}'
printf "\\$(printf %03o ${#header})\000\000\000\000\000\000\000%s123456789012" "$header" > "$work/bidi"
inspect 1 "$work/bidi"
result 'what turns a terminal round is not shown' grep -q '^a???é  .* ! "a???é.running_var": ' "$work/out"
# Many layers, and ever more memory: a report is whole, or there is none.
awk 'BEGIN {
    for (i = 0; i < 4000; ++i) {
        printf "%s\"layers.%d.running_mean\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%d,%d]}", i ? "," : "{", i, 8 * i, 8 * i + 4
        printf ",\"layers.%d.running_var\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%d,%d]}", i, 8 * i + 4, 8 * i + 8
    }
    printf "}"
}' > "$work/header"
size=$(wc -c < "$work/header")
{
    printf "\\$(printf %03o $((size & 255)))\\$(printf %03o $((size >> 8 & 255)))"
    printf "\\$(printf %03o $((size >> 16 & 255)))\\000\\000\\000\\000\\000"
    cat "$work/header"
    head -c 32000 /dev/zero
} > "$work/many"
"$SYNCBN" inspect --json "$work/many" > "$work/whole" 2> "$work/err"
whole=0 refused=0 odd=0 start=10000
until (ulimit -v $start && "$SYNCBN" --version) > "$work/out" 2>&1; do
    start=$((start + 2000))
done
for more in 0 1 2 3 4 5 6 7 8 10 12 14 16 20 40; do
    kilobytes=$((start + 1000 * more))
    (ulimit -v $kilobytes && exec "$SYNCBN" inspect --json "$work/many") > "$work/out" 2> "$work/err"
    case $? in
    0 | 1)
        if cmp -s "$work/out" "$work/whole"; then
            whole=$((whole + 1))
        elif grep -q 'no memory\|OUT_OF_MEMORY' "$work/err"; then
            refused=$((refused + 1))
        else
            odd=$((odd + 1))
        fi
        ;;
    *) odd=$((odd + 1)) ;;
    esac
done
result "limits of memory: $whole whole reports, $refused without memory, $odd otherwise" \
    [ $((whole > 0 && refused > 0 && odd == 0)) -eq 1 ]
printf '\002\000\000\000\000\000\000\000{}' > "$work/empty"
inspect 0 "$work/empty"
result 'a file without layers' grep -q 'no layer with running statistics' "$work/out"
printf '\003\000\000\000\000\000\000\000{}' > "$work/cut"
inspect 1 "$work/cut"
result 'a file that is cut' grep -q '^syncbn: .*/cut: its header is said to have 3 bytes' "$work/err"
inspect 1 "$work/none"
result 'no file' grep -q '^syncbn: .*/none: opening it: No such file' "$work/err"
inspect 2
result 'no name' grep -q 'inspect takes one file, 0 came' "$work/err"
inspect 2 --yaml "$work/none"
inspect 0 --help
result 'help' grep -q '^usage: syncbn inspect' "$work/out"
echo "1..$number"
