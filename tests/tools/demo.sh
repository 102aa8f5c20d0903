#!/bin/sh
# The demo, a few steps of it: with real layers, images and gradients the same batches split 1, 2, 3
# and 8 ways give the same digests, and the network with batch norm folded into its convolutions and
# its dense layer gives the same logits. It exits with 1 if they do not. Runs in the build directory.
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
echo '1..3'
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
