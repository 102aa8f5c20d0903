#!/bin/sh
# The demo over MPI: the same digests for 1x8, 2x4, 4x2 and 8x1 (ranks x replicas), a few
# steps of training over 2 ranks, and the examples' shortest program over 3.

. "${srcdir:=.}/tests/mpi/common.sh"
be_patient
export POCL_EXTRA_BUILD_FLAGS=

mpi 3 examples/minimal_mpi > "$work/minimal" 2>&1
status=$?
sed 's/^/# /' "$work/minimal"
if [ $status -eq 0 ] && [ "$(grep -c 'mean 2 30  variance 0.666667 466.667$' "$work/minimal")" -eq 3 ]; then
    report ok 'minimal_mpi: three ranks know the statistics of the whole batch'
else
    report 'not ok' "minimal_mpi: status $status"
fi

demo=examples/train_fashion data=/usr/share/datasets/fashion-mnist
needs_demo

mpi 8 "$demo" --verify --steps 3 > "$work/verify" 2>&1
status=$?
sed 's/^/# /' "$work/verify"
# Three layers, seven splits and the control; four of the splits share out 8 replicas.
rows=$(grep -cE '^[a-z0-9]+ +([1248]x[12348]|half) ' "$work/verify")
eight=$(grep -E '^dense +(1x8|2x4|4x2|8x1) ' "$work/verify" | cut -c14- | sort -u | wc -l)
if [ $status -eq 0 ] && [ "$rows" -eq 24 ] && [ "$eight" -eq 1 ]; then
    report ok 'the same digests for 1x8, 2x4, 4x2 and 8x1'
else
    report 'not ok' "status $status, $rows rows of 24, $eight different ones"
fi

# shorten FILE HEADER BYTES: the first 2,500 images or labels of a file, by the bytes of its header and of
# each item.
shorten() {
    gzip -dc "$data/$1" > "$work/all" || exit 1
    { head -c 4 "$work/all" && printf '\000\000\011\304' &&
        tail -c +9 "$work/all" | head -c $(($2 - 8 + 2500 * $3)); } | gzip -1 > "$work/images/$1"
}
# The most time goes into the test images.
mkdir "$work/images" && ln -s "$data"/train-* "$work/images"
shorten t10k-images-idx3-ubyte.gz 16 784
shorten t10k-labels-idx1-ubyte.gz 8 1

# What gnuplot is told is kept, and drawn by nothing. The demo is started in another folder.
cat > "$work/gnuplot" << 'END'
#!/bin/sh
cat > "${0%/*}/plot"
END
chmod +x "$work/gnuplot"
here=$(pwd)
cd "$work" || exit 1
# PATH by env, for Open MPI's launcher puts its own folder first. Its ranks write to a terminal, as the
# demo sees it: what clears the line of progress is taken out.
mpi 2 env PATH="$work:$PATH" "$here/$demo" --steps 3 --replicas 3 --data images --out fashion > "$work/raw" 2>&1
status=$?
escape=$(printf '\033')
tr '\r' '\n' < "$work/raw" | sed "s/$escape\[K//g" > "$work/train"
cd "$here" || exit 1
sed 's/^/# /' "$work/train"
if [ $status -eq 0 ] && grep -q '^Synchronising 3 replicas' "$work/train" &&
    grep -q '^folded: ' "$work/train"; then
    report ok 'three replicas on two ranks train'
else
    report 'not ok' "training ended with status $status"
fi
parts=$(grep -oE '^(compiling the demo|3 replicas|3 steps|compiling kernels, once|seed 1, [a-z]+|Folding|folded:|Synchronising 3 replicas|Next:)' \
    "$work/train" | paste -s -d , -)
if [ "$parts" = 'compiling the demo,3 replicas,3 steps,compiling kernels, once,seed 1, per,seed 1, synchronised,Folding,folded:,Synchronising 3 replicas,Next:' ]; then
    report ok 'compiling comes before the trainings, what to do next is last'
else
    report 'not ok' "the order of what is printed: $parts"
fi
points=$(grep -c synchronised "$work/fashion.csv")
if [ "$points" -eq 3 ] && [ "$(grep -c '^Synchronising' "$work/train")" -eq 1 ]; then
    report ok "rank 0 alone writes: $points points of a curve"
else
    report 'not ok' "rank 0 alone writes: expected 3 points of a curve, got $points"
fi

# shows WHAT FILE PATTERN
shows() {
    if grep -qE -- "$3" "$work/$2"; then
        report ok "$1"
    else
        report 'not ok' "$1: expected $3 in $2"
    fi
}
full=$(cd "$work" && pwd -P)
shows 'files are named with their folder' train "^curves: $full/fashion.csv and "
shows 'how many images the curve is over is said' train '^\(the curves use the first 2000 test images, the figures above all 2500\)$'
shows 'and in the picture' plot "^set yrange .0:100. ; set ylabel 'accuracy on 2000 test images, %'"
shows 'the legends lie outside the data' plot 'set key outside'
if grep -q 'set key' "$work/plot" && grep 'set key' "$work/plot" | grep -qv 'set key outside'; then
    report 'not ok' 'no legend lies inside'
else
    report ok 'no legend lies inside'
fi
shows 'folding shows progress' train '^unfolded +(\[[.#]*\] +)?0%'
shows 'both times' train '^folded +(\[[.#]*\] +)?0%'

# A mistake is one sentence of rank 0, and no banner of the launcher's.
mpi 2 "$demo" --epoch 1 > "$work/mistake" 2>&1
status=$?
if [ $status -eq 2 ] && [ "$(grep -c '^train_fashion: unknown option' "$work/mistake")" -eq 1 ] &&
    ! grep -q 'MPI_Abort\|MPI_ABORT\|BAD TERMINATION' "$work/mistake"; then
    report ok 'a mistake over two ranks: one sentence and status 2'
else
    report 'not ok' "a mistake over two ranks: status $status"
    sed 's/^/# /' "$work/mistake"
fi
echo "1..$count"
