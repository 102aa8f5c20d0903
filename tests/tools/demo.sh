#!/bin/sh
# The demo, a few steps of it: with real layers, images and gradients the same batches split 1, 2, 3
# and 8 ways give the same digests, and the network with batch norm folded into its convolutions and
# its dense layer gives the same logits; so in f16 and bf16. It exits with 1 if they do not. A mistake
# on the command line is one sentence and status 2. Runs in the build directory.
set -u
demo=examples/train_fashion

skip() {
    if [ "${CI:-}" = true ]; then
        echo '1..1'
        echo "not ok 1 - $1"
        exit 1
    fi
    echo "1..0 # SKIP $1"
    exit 0
}

[ -x "$demo" ] || skip 'the demo was not built: CLBlast or zlib is missing'
[ -d /usr/share/datasets/fashion-mnist ] || skip 'the package dataset-fashion-mnist is not installed'

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
echo '1..16'
"$demo" --verify --steps 3 > "$out" 2>&1
status=$?
sed 's/^/# /' "$out"
if [ $status -eq 0 ]; then
    echo 'ok 1 - the same digests 1, 2, 3 and 8 ways'
else
    echo "not ok 1 - the demo ended with status $status"
fi
# A demo that compared nothing would end well too: three layers, four splits and the control.
rows=$(grep -cE '^[a-z0-9]+ +(1x1|1x2|1x3|1x8|half) ' "$out")
if [ "$rows" -eq 15 ]; then
    echo 'ok 2 - 15 rows were compared'
else
    echo "not ok 2 - $rows rows of 15 were compared"
fi
folded=$(grep '^Batch norm folded' "$out")
if [ $status -eq 0 ] && [ -n "$folded" ]; then
    echo "ok 3 - $folded"
else
    echo "not ok 3 - the folded network was compared"
fi

count=3
# refuses STATUS WORDS OPTIONS...: one sentence with the words, that status, and nothing else.
refuses() {
    expected=$1 words=$2
    shift 2
    count=$((count + 1))
    "$demo" "$@" > "$out" 2>&1
    status=$?
    if [ $status -eq "$expected" ] && [ "$(wc -l < "$out")" -eq 1 ] && grep -qF -- "$words" "$out"; then
        echo "ok $count - $* is refused: $(cat "$out")"
    else
        echo "not ok $count - $*: expected status $expected and: $words, got status $status"
        sed 's/^/# /' "$out"
    fi
}
refuses 2 "unknown option '--epoch'" --epoch 1
refuses 2 '--steps takes a whole number' --steps x
refuses 2 '--steps needs a value' --steps
refuses 2 'at most 16384' --replicas 256 --batch 4096
refuses 2 '--devices takes auto, all, cpu, gpu, accelerator or numbers' --devices fpga
refuses 2 '--devices names 4000000000, but there are only' --devices 4000000000
# The numbers of --devices are those of syncbn devices, and so are the types.
"$demo" --list > "$out" 2>&1
numbers=$(sed -n 's/^\([0-9]*\)  .*/\1/p' "$out" | tr '\n' ' ')
same=$("${SYNCBN:-tools/syncbn/syncbn}" devices | sed -n 's/^  \([0-9][0-9]*\)  .*/\1/p' | tr '\n' ' ')
if [ -n "$numbers" ] && [ "$numbers" = "$same" ]; then
    echo "ok 10 - devices are numbered as by syncbn devices: $numbers"
else
    echo "not ok 10 - devices are numbered '$numbers', by syncbn devices '$same'"
fi
"$demo" --devices 0,0 > "$out" 2>&1
status=$?
if [ $status -eq 2 ] && grep -q 'names 0 twice' "$out"; then
    echo 'ok 11 - a device named twice'
else
    echo "not ok 11 - a device named twice: status $status"
fi
"$demo" --help > "$out" 2>&1
status=$?
if [ $status -eq 0 ] && grep -q '^usage: train_fashion' "$out"; then
    echo 'ok 12 - help'
else
    echo "not ok 12 - help: status $status"
fi
count=12
refuses 2 '--type takes f32, f16 or bf16' --type f64
for type in f16 bf16; do
    count=$((count + 1))
    "$demo" --type $type --verify --steps 3 > "$out" 2>&1
    status=$?
    rows=$(grep -cE '^[a-z0-9]+ +(1x1|1x2|1x3|1x8|half) ' "$out")
    folded=$(grep '^Batch norm folded' "$out")
    if [ $status-$rows = 0-15 ] && grep -q "batch norm in $type\." "$out" && [ -n "$folded" ]; then
        echo "ok $count - in $type the same digests 1, 2, 3 and 8 ways; $folded"
    else
        echo "not ok $count - in $type: status $status, $rows rows"
        sed 's/^/# /' "$out"
    fi
done
OCL_ICD_VENDORS=/none
export OCL_ICD_VENDORS
refuses 1 'no usable OpenCL device for --devices gpu' --devices gpu
