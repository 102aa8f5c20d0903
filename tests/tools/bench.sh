#!/bin/sh
# The command `syncbn bench`: its options, its table, its JSON, and what make bench makes of that. Nothing here looks
# at how long anything took. Runs in the build directory. Environment: srcdir, SYNCBN (the command), PYTHON.
set -u
. "${srcdir:=.}/tests/support/command.sh"
"${PYTHON:=python3}" -c 'import json' > /dev/null 2>&1 || skip_all "$PYTHON is not installed"
bench_report() {
    PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$srcdir/tools/bench/report.py" "$@"
}
: "${POCL_DEVICES=pthread pthread}"
export POCL_DEVICES

"$SYNCBN" devices | grep -q '^     usable$' || skip_all 'there is no usable OpenCL device'

"$SYNCBN" tune --help > "$work/out"
it_says 'in 7 to 1024 rounds'
"$SYNCBN" bench --help > "$work/help"
check 'so of bench' grep -q 'in 7 to 1024 rounds' "$work/help"
for seconds in x -1 inf; do
    check "--seconds $seconds" refuses "--seconds $seconds: expected a number from 0" bench --seconds $seconds
done
for repeats in 0 1025; do
    check "--repeats $repeats" refuses "--repeats $repeats: expected 1 to 1024" bench --repeats $repeats
done
check '--devices that do not exist' refuses '--devices names 99, but...' bench --devices 99
check 'a file that is missing' refuses "$work/none cannot be read..." bench --file "$work/none"
check 'no problem' refuses 'shape "mbx"...' bench mbx
for setting in ooo inplace passes=f keep accumulate global shuffle3 off3 split2-2,sizes7x7-5x5 \
    frozen nodx nograd host copied byhost begin stored given0 branch1; do
    line=mb4ic4ih3iw3,$setting
    check "a problem with $setting" refuses "$line cannot be measured: ..." bench "$line"
    word=$(echo "${setting##*,}" | sed 's/[=0-9].*//')
    check "the help says so of $word" grep -qw "$word" "$work/help"
done
for shape in mb0ic4 mb4ic4ih0iw3; do
    check "an empty batch, $shape" refuses "$shape cannot be measured: an empty batch..." bench $shape
done
check 'one value per channel' refuses 'mb1ic4 cannot be measured: one value...' bench mb1ic4

echo 'mb4ic8ih6iw7 # a comment' > "$work/list"
check 'two problems' run 0 bench --repeats 3 --file "$work/list" mb4ic8ih6iw7,last --json "$work/json"
check 'both are right' [ "$(grep -c ' 3 rounds, .*: results right$' "$work/out")" -eq 2 ]
it_says '^device 0: (pthread|cpu)'
check 'the fastest copy is named, once a problem' [ "$(grep -c 'the fastest copy$' "$work/out")" -eq 2 ]
for pass in forward backward evaluate; do
    it_says "^  $pass +syncbn .* GB/s .* of copy"
done
it_says '^  backward  syncbn takes .* against unordered'
it_says '^  forward   synchronised takes .* against apart$'
it_says '^  workspace [0-9.]+ MB'

check 'the JSON is well formed, with both problems' \
    eval '[ "$(bench_report data "$work/json" | wc -l)" -ge 1 ] &&
          [ "$(grep -c "\"problem\": \"mb4ic8ih6iw7" "$work/json")" -eq 2 ]'
check 'the goals are read from it' eval '[ "$(bench_report goals "$work/json" | wc -l)" -eq 21 ]'
sed 's/"median": [-+0-9.eE]*/"median": "nan"/' "$work/json" > "$work/nan"
check 'medians that are none' bench_report goals "$work/nan"

# kind WITH NOT WORD PROBLEM...: the library is compared with WITH in each problem, forward and backward, none
# of those that NOT names is among them, and the JSON has the word as often.
kind() {
    with=$1 without=$2 word=$3
    shift 3
    check "$*" run 0 bench --repeats 3 --json "$work/kind" "$@"
    check "$with: all are right" [ "$(grep -c ' 3 rounds, .*: results right$' "$work/out")" -eq $# ]
    for pass in forward backward; do
        check "$with: $pass, in each problem" \
            [ "$(grep -cE "^  $pass +syncbn takes .* against $with$" "$work/out")" -eq $# ]
    done
    it_never_says "$without"
    check "$with: the JSON says $word" [ "$(grep -c "$word" "$work/kind")" -eq $# ]
}
kind f32 unordered '"type": "b*f16"' mb4ic8ih6iw7,f16 mb4ic8ih6iw7,bf16,last
kind 'norm alone' unordered '"activation": "relu"' mb4ic8ih6iw7,relu
kind separate unordered '"residual": true' mb4ic8ih6iw7,relu,add,last
kind 'from x' unordered '"from_output": true' mb4ic8ih6iw7,leaky,output mb4ic8ih6iw7,output,last
kind dense 'unordered|onednn|separate' '"views": true' mb4ic8ih6iw7,pitch5 \
    mb4ic8ih5iw5,f16,last,pitch1 mb4ic8ih6iw7,relu,add,pitch64
# Bytes, and those of copies, are what a pass moves: "f32" moves floats beside a type of two bytes.
cat > "$work/moved.py" << 'EOF'
import json, sys

moves = {"copy": 2, "forward": 4, "backward": 6, "evaluate": 3}
for problem in json.load(open(sys.argv[1]))["problems"]:
    series = problem["series"]
    copy = [s for s in series if s["contender"] == problem["fastest_copy"]][0]["seconds"]["median"]
    for s in series:
        bytes = moves[s["pass"]] * problem["bytes"] * (2 if s["contender"] == "f32" else 1)
        seconds = s["seconds"]["median"]
        share = copy / seconds * bytes / (2 * problem["bytes"])
        for got, right in (s["gb_per_s"], 1e-9 * bytes / seconds), (s["share_of_copy"]["median"], share):
            if abs(got / right - 1) > 1e-9:
                sys.exit(f"{s['contender']} {s['pass']}: got {got}, expected {right}")
EOF
check 'a problem of one round in f16' run 0 bench --repeats 1 --json "$work/one" mb4ic8ih6iw7,f16,add
check_run 'speeds and shares of all contenders' "$PYTHON" "$work/moved.py" "$work/one"
check 'problems that only the library is measured by' run 0 bench --repeats 1 mb64ic8ih3iw3,last,clamp,eps=0.5 \
    mb64ic8ih3iw3,last,data=nan mb64ic8ih3iw3,relu,add,data=nan
check 'all are right' [ "$(grep -c ': results right$' "$work/out")" -eq 3 ]
it_never_says 'unordered|onednn|separate'
check 'a file that is no JSON' eval '! bench_report goals "$work/list" 2> "$work/err" &&
    grep -q "is no report of syncbn bench" "$work/err"'
echo "1..$count"
