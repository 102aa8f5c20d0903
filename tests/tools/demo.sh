#!/bin/sh
# The demo, a few steps of it: with real layers, images and gradients the same batches split 1, 2, 3
# and 8 ways give the same digests, and the network with batch norm folded into its convolutions and
# its dense layer gives the same logits; so in bf16, and in f16 with CHECK=full. It exits with 1 if they do
# not. A mistake on the command line is one sentence and status 2. Runs in the build directory.
set -u
. "${srcdir:=.}/tests/support/tap.sh"
out=$work/out
needs_demo

# verify OPTIONS...: the exit status, the rows that were compared and the folded network's line. A demo
# that compared nothing would end well too: three layers, four splits and the control.
verify() {
    "$demo" "$@" --verify --steps 3 > "$out" 2>&1
    status=$?
    rows=$(grep -cE '^[a-z0-9]+ +(1x1|1x2|1x3|1x8|half) ' "$out")
    folded=$(grep "^folded: " "$out")
}
verify
sed 's/^/# /' "$out"
check "the same digests 1, 2, 3 and 8 ways: status $status" [ $status -eq 0 ]
check "$rows of 15 rows were compared" [ "$rows" -eq 15 ]
check "the folded network: ${folded:-not compared}" eval '[ $status -eq 0 ] && [ -n "$folded" ]'

# A gnuplot that cannot draw costs the picture, and not the result.
mkdir "$work/bin" && printf '#!/bin/sh\nexit 1\n' > "$work/bin/gnuplot" && chmod +x "$work/bin/gnuplot"
short_images 500
check_run 'a training with a gnuplot that fails' env PATH="$work/bin:$PATH" \
    "$demo" --steps 2 --replicas 2 --data "$work/images" --out "$work/curves"
it_says '\.csv \(no picture: gnuplot failed\)'
it_says '^Synchronising 2 replicas'
[ ! -w /dev/full ] || for option in --list --help "--steps=1 --replicas=2 --data=$work/images --out=$work/curves"; do
    "$demo" $option > /dev/full 2> "$work/out"
    check "${option%% *} that cannot be written: status $?" [ $? -eq 1 ]
    it_says '^train_fashion: standard output cannot be written$'
done

# refuses STATUS WORDS OPTIONS...: one sentence with the words, that status, and nothing else.
refuses() {
    expected=$1 words=$2
    shift 2
    "$demo" "$@" > "$out" 2>&1
    status=$?
    check "$*: expected status $expected, got $status; one sentence, with: $words" eval \
        '[ $status -eq $expected ] && [ "$(wc -l < "$out")" -eq 1 ] && grep -qF -- "$words" "$out"'
}
refuses 2 "unknown option '--epoch'" --epoch 1
refuses 2 '--steps takes a whole number' --steps x
refuses 2 '--steps needs a value' --steps
refuses 2 '--batch 1 leaves per-replica statistics one value' --batch 1
refuses 2 'leaves the dense layer one value' --verify --replicas 1 --batch 1
refuses 2 'at most 16384' --replicas 256 --batch 4096
refuses 2 '--devices takes auto, all, cpu, gpu, accelerator or numbers' --devices fpga
refuses 2 '--devices names 4000000000, but there are only' --devices 4000000000
# The numbers of --devices are those of syncbn devices, and so are the types.
"$demo" --list > "$out" 2>&1
numbers=$(sed -n 's/^\([0-9]*\)  .*/\1/p' "$out" | tr '\n' ' ')
same=$("${SYNCBN:-tools/syncbn/syncbn}" devices | sed -n 's/^  \([0-9][0-9]*\)  .*/\1/p' | tr '\n' ' ')
check "devices are numbered '$numbers', by syncbn devices '$same'" \
    eval '[ -n "$numbers" ] && [ "$numbers" = "$same" ]'
refuses 2 'names 0 twice' --devices 0,0
check_run 'help' "$demo" --help
it_says '^usage: train_fashion'
refuses 2 '--type takes f32, f16 or bf16' --type f64
[ "${CHECK-}" = full ] && types='f16 bf16' || types=bf16
# Of one image to test by.
rm -r "$work/images"
short_images 1
for type in $types; do
    verify --type $type --data "$work/images"
    check "in $type: status $status, $rows of 15 rows; ${folded:-not folded}" eval \
        '[ $status-$rows = 0-15 ] && grep -q "batch norm in $type\." "$out" &&
         echo "$folded" | grep -qE "accuracy (0|100)\.00 %, unfolded (0|100)\.00 %;"'
done
export OCL_ICD_VENDORS=/none
refuses 1 'no usable OpenCL device for --devices gpu' --devices gpu
echo "1..$count"
