#!/bin/sh
# The command `syncbn bench`: its options, its table, its JSON, and what make
# bench makes of that. Nothing here looks at how long anything took. Runs in the
# build directory. Environment: srcdir, SYNCBN (the command), PYTHON.
set -u
. "${srcdir:=.}/tests/support/command.sh"
"${PYTHON:=python3}" -c 'import json' > /dev/null 2>&1 || skip_all "$PYTHON is not installed"
bench_report() {
    PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$srcdir/tools/bench/report.py" "$@"
}
: "${POCL_DEVICES=pthread pthread}"
export POCL_DEVICES

# refuses WORDS OPTIONS...: wrong usage, with one sentence that holds the words, and no output.
refuses() {
    words=$1
    shift
    run 2 bench "$@" && grep -qF -- "$words" "$work/err" && [ "$(wc -l < "$work/err")" -eq 1 ] &&
        [ ! -s "$work/out" ]
}

says() {
    grep -qE -- "$1" "$work/out"
}

"$SYNCBN" devices | grep -q '^     usable$' || skip_all 'there is no usable OpenCL device'

check 'help' run 0 bench --help
check 'help names the options' says '--repeats N'
check '--seconds that is no number' refuses '--seconds x: ' --seconds x
check '--seconds below 0' refuses '--seconds -1: ' --seconds -1
check '--seconds that never ends' refuses '--seconds inf: ' --seconds inf
check '--repeats 0' refuses '--repeats 0: expected 1 to 1024' --repeats 0
check '--repeats beyond what is kept' refuses '--repeats 1025: ' --repeats 1025
check '--form of another kind' refuses '--form fpga: ' --form fpga
check '--devices that do not exist' refuses '--devices names 99' --devices 99
check 'an unknown option' refuses '--fast' --fast
check 'a file that is missing' refuses "$work/none" --file "$work/none"
check 'no problem' refuses 'mbx' mbx
for setting in ooo inplace passes=f keep accumulate global shuffle3 off3 split2-2,sizes7x7-5x5 \
    frozen nodx nograd host copied byhost begin stored given0 branch1; do
    check "a problem with $setting" refuses "${setting%%[0-9=,]*}" "mb4ic4ih3iw3,$setting"
done
check 'an empty batch' refuses 'an empty batch' mb0ic4

echo 'mb4ic8ih6iw7 # a comment' > "$work/list"
check 'two problems' run 0 bench --repeats 3 --file "$work/list" mb4ic8ih6iw7,last --json "$work/json"
check 'both are right' [ "$(grep -c ' 3 rounds, .*: results right$' "$work/out")" -eq 2 ]
check 'the devices' says '^device 0: (pthread|cpu)'
check 'the wire' says '^on the wire, forward: 2 messages, [0-9]+ bytes and [0-9]+ for each channel$'
check 'the fastest copy is named, once a problem' [ "$(grep -c 'the fastest copy$' "$work/out")" -eq 2 ]
for pass in forward backward evaluate; do
    check "$pass of the library" says "^  $pass +syncbn .* GB/s .* of copy"
done
check 'the library against unordered' says '^  backward  syncbn takes .* against unordered'
check 'synchronised against apart' says '^  forward   synchronised takes .* against apart$'
check 'the workspace' says '^  workspace [0-9.]+ MB'

check 'the JSON is well formed, with both problems' \
    eval '[ "$(bench_report data "$work/json" | wc -l)" -ge 1 ] &&
          [ "$(grep -c "\"problem\": \"mb4ic8ih6iw7" "$work/json")" -eq 2 ]'
check 'the goals are read from it' \
    eval '[ "$(bench_report goals "$work/json" | wc -l)" -eq 21 ]'
check 'JSON to stdout' run 0 bench --repeats 1 --json - mb4ic8
cp "$work/out" "$work/json"
check 'and nothing else is there' bench_report goals "$work/json"
check 'a problem in f16 and one in bf16' run 0 bench --repeats 3 mb4ic8ih6iw7,f16 \
    mb4ic8ih6iw7,bf16,last --json "$work/narrow"
check 'both are right' [ "$(grep -c '  0.00 MB, 3 rounds, .*: results right$' "$work/out")" -eq 2 ]
for pass in forward backward; do
    check "$pass against f32, twice" \
        [ "$(grep -cE "^  $pass +syncbn takes .* against f32$" "$work/out")" -eq 2 ]
done
check 'kernels that read floats are not among them' eval '! says unordered'
check 'the JSON names the types' \
    eval 'grep -q "\"type\": \"f16\"" "$work/narrow" && grep -q "\"type\": \"bf16\"" "$work/narrow"'
check 'a ReLU, and an addition and a ReLU' run 0 bench --repeats 3 mb4ic8ih6iw7,relu \
    mb4ic8ih6iw7,relu,add,last --json "$work/fused"
check 'both are right' [ "$(grep -c ' 3 rounds, .*: results right$' "$work/out")" -eq 2 ]
for pass in forward backward; do
    check "$pass against no ReLU" says "^  $pass +syncbn takes .* against norm alone$"
    check "$pass against passes apart, twice" \
        [ "$(grep -cE "^  $pass +syncbn takes .* against separate$" "$work/out")" -eq 2 ]
done
check 'kernels without an activation are not among them' eval '! says unordered'
check 'backward from the output' run 0 bench --repeats 3 mb4ic8ih6iw7,leaky,output \
    mb4ic8ih6iw7,output,last --json "$work/output"
check 'both are right' [ "$(grep -c ' 3 rounds, .*: results right$' "$work/out")" -eq 2 ]
check 'backward against from x, twice' \
    [ "$(grep -cE '^  backward +syncbn takes .* against from x$' "$work/out")" -eq 2 ]
check 'the JSON says so' [ "$(grep -c '"from_output": true' "$work/output")" -eq 2 ]
check 'views' run 0 bench --repeats 3 mb4ic8ih6iw7,pitch5 mb4ic8ih5iw5,f16,last,pitch1 \
    mb4ic8ih6iw7,relu,add,pitch64 --json "$work/views"
check 'all three are right' [ "$(grep -c ' 3 rounds, .*: results right$' "$work/out")" -eq 3 ]
for pass in forward backward; do
    check "$pass against dense tensors, three times" \
        [ "$(grep -cE "^  $pass +syncbn takes .* against dense$" "$work/out")" -eq 3 ]
done
check 'kernels for dense tensors are not among them' eval '! says "unordered|onednn|separate"'
check 'the JSON says so' [ "$(grep -c '"views": true' "$work/views")" -eq 3 ]
check 'the JSON names what is fused' \
    eval 'grep -q "\"activation\": \"relu\"" "$work/fused" && grep -q "\"residual\": true" "$work/fused"'
check 'JSON that cannot be written' run 1 bench --repeats 1 --json "$work/none/json" mb4ic8
check 'is said' grep -q -e "--json $work/none/json: it cannot be written: " "$work/err"
check 'a file that is no JSON' eval '! bench_report goals "$work/list" 2> "$work/err" &&
    grep -q "is no report of syncbn bench" "$work/err"'

# Verdicts, from numbers made up: two problems of 20 MB and one of next to nothing.
narrow() { # LINE TYPE BYTES QUOTIENT
    cat << END
{"problem": "$1", "type": "$2", "layout": "first", "bytes": $3, "workspace_bytes": 3000000,
 "comparisons": [
  {"of": "syncbn", "with": "f32", "pass": "forward", "quotient": {"median": $4}},
  {"of": "syncbn", "with": "f32", "pass": "backward", "quotient": {"median": 0.5}}]}
END
}
fused() { # LINE RESIDUAL WITH QUOTIENT
    cat << END
{"problem": "$1", "type": "f32", "activation": "relu", "residual": $2, "layout": "first",
 "bytes": 20480000, "workspace_bytes": 3000000,
 "comparisons": [
  {"of": "syncbn", "with": "$3", "pass": "forward", "quotient": {"median": $4}},
  {"of": "syncbn", "with": "$3", "pass": "backward", "quotient": {"median": 0.5}}]}
END
}
problem() { # LINE LAYOUT BYTES SHARE QUOTIENT DIFFERENCE
    cat << END
{"problem": "$1", "layout": "$2", "bytes": $3, "workspace_bytes": 500000,
 "fastest_onednn": {"forward": "onednn nhwc", "backward": "onednn nhwc"},
 "series": [
  {"contender": "unordered", "pass": "forward", "share_of_copy": {"median": 0.99}},
  {"contender": "syncbn", "pass": "forward", "share_of_copy": {"median": $4},
   "returned": {"median": $6}},
  {"contender": "syncbn", "pass": "backward", "share_of_copy": {"median": $4}}],
 "comparisons": [
  {"of": "syncbn", "with": "onednn nhwc", "pass": "forward", "quotient": {"median": 0.5}},
  {"of": "syncbn", "with": "onednn nhwc", "pass": "backward", "quotient": {"median": 1.25}},
  {"of": "syncbn", "with": "unordered", "pass": "forward",
   "quotient": {"median": $5}, "difference": {"median": $6}},
  {"of": "synchronised", "with": "apart", "pass": "backward", "quotient": {"median": $5}}]}
END
}
{
    echo '{"devices": [{"type": "cpu"}], "problems": ['
    problem mb32ic64ih50iw50 first 20480000 0.95 1.01 1e-4
    echo ,
    problem mb32ic64ih51iw51 first 21307392 0.83 1.04 1e-4
    echo ,
    problem mb2ic64 first 512 0.1 3 1.5e-5
    echo ,
    narrow mb32ic64ih50iw50,f16 f16 10240000 0.6
    echo ,
    narrow mb32ic64ih51iw51,bf16 bf16 10653696 0.7
    echo ,
    narrow mb2ic64,bf16 bf16 256 0.9
    echo ,
    fused mb32ic64ih50iw50,relu false 'norm alone' 1.02
    echo ,
    fused mb32ic64ih50iw50,relu,add true separate 0.7
    echo ,
    fused mb32ic64ih50iw50,leaky,output false 'from x' 1.2 |
        sed 's/"relu"/"leaky", "from_output": true/; s/"median": 0.5/"median": 1.05/'
    echo ,
    problem mb32ic64ih49iw49,pitch64 first 20480000 0.01 9 1 |
        sed 's/"layout"/"views": true, "layout"/'
    echo ']}'
} > "$work/json"
bench_report goals "$work/json" > "$work/out" 2> "$work/err"
line() { # WHAT VALUE VERDICT REST
    check "$1: $3" says "^$1.* +$2 .*$3 +$4"
}
line 'forward against three passes of a copy, >= 16 MB, channels first' 0.83 missed \
    '1 of 2; worst: forward mb32ic64ih51iw51$'
check 'what was not measured is said' says '^forward .*channels last +not measured$'
line "against oneDNN's best layout, > 4 MB" '0.80 x' missed '2 of 4'
line 'the same, on half of them' '0.80 x' met '2 of 4'
check 'a layout that was not measured' says '^against oneDNN given the same layout.* not measured$'
line 'synchronising two devices of a context, >= 16 MB, costs' '4.00 %' missed '1 of 2'
line 'exact sums against unordered ones, >= 16 MB, cost' '4.00 %' met '2 of 2'
line 'fixed cost of a pass beyond its kernels, 64 channels' '15.00 us' met '1 of 1'
line 'time until a pass returns, 64 channels' '15.00 us' met '1 of 1'
line 'f16 and bf16 against f32 of the same shape, >= 16 MB of f32, time' '0.70 x' missed \
    '3 of 4; worst: forward mb32ic64ih51iw51,bf16$'
line 'fused ReLU against none, >= 16 MB, time' '1.02 x' met '2 of 2'
line 'addition and ReLU fused against apart, >= 16 MB, time' '0.70 x' missed \
    '1 of 2; worst: forward mb32ic64ih50iw50,relu,add$'
line 'backward from the output against from x, >= 16 MB, time' '1.05 x' met '1 of 1'
line 'workspace' 0.50 met '2 of 2'
sed 's/"cpu"/"gpu"/; s/20480000/70000000/' "$work/json" > "$work/gpu"
bench_report goals "$work/gpu" > "$work/out" 2> "$work/err"
line 'forward against three passes of a copy, >= 64 MB, channels first' 0.95 met '1 of 1'
echo "1..$count"
