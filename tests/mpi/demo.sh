#!/bin/sh
# The demo over MPI: the same digests for 1x8, 2x4, 4x2 and 8x1 (ranks x replicas), a few
# steps of training over 2 ranks, and the examples' shortest program over 3.

. "${srcdir:=.}/tests/mpi/common.sh"
be_patient

check_run 'minimal_mpi ends well' mpi 3 examples/minimal_mpi
check 'three ranks know the statistics of the whole batch' \
    [ "$(grep -c 'mean 2 30  variance 0.666667 466.667$' "$work/out")" -eq 3 ]

needs_demo
check_run 'eight ranks compare digests' mpi 8 "$demo" --verify --steps 3
# Three layers, seven splits and the control; four of the splits share out 8 replicas.
rows=$(grep -cE '^[a-z0-9]+ +([1248]x[12348]|half) ' "$work/out")
eight=$(grep -E '^dense +(1x8|2x4|4x2|8x1) ' "$work/out" | cut -c14- | sort -u | wc -l)
check "$rows rows of 24, $eight different for 1x8, 2x4, 4x2 and 8x1" [ "$rows-$eight" = 24-1 ]

short_images 2500
# What gnuplot is told is kept, and drawn by nothing. The demo is started in another folder.
printf '%s\n' '#!/bin/sh' 'cat > "${0%/*}/plot"' > "$work/gnuplot"
chmod +x "$work/gnuplot"
here=$(pwd)
# PATH by env, for Open MPI's launcher puts its own folder first. Its ranks write to a terminal, as the
# demo sees it: what clears the line of progress is taken out.
(cd "$work" && mpi 2 env PATH="$work:$PATH" "$here/$demo" --steps 3 --replicas 3 --data images --out fashion) \
    > "$work/raw" 2>&1
status=$?
escape=$(printf '\033')
tr '\r' '\n' < "$work/raw" | sed "s/$escape\[K//g" > "$work/out"
check "three replicas on two ranks train: status $status" [ $status -eq 0 ]
parts=$(grep -oE '^(compiling the demo|3 replicas|3 steps|compiling kernels, once|seed 1, [a-z]+|Folding|folded:|Synchronising 3 replicas|Next:)' \
    "$work/out" | paste -s -d , -)
check "compiling comes before the trainings, what to do next is last: $parts" [ "$parts" = \
    'compiling the demo,3 replicas,3 steps,compiling kernels, once,seed 1, per,seed 1, synchronised,Folding,folded:,Synchronising 3 replicas,Next:' ]
points=$(grep -c synchronised "$work/fashion.csv")
check "rank 0 alone writes: expected 3 points of a curve, got $points" [ "$points" -eq 3 ]
full=$(cd "$work" && pwd -P)
it_says "^curves: $full/fashion.csv and "
it_says '^\(the curves use the first 2000 test images, the figures above all 2500\)$'
it_says '^unfolded +(\[[.#]*\] +)?0%'
it_says '^folded +(\[[.#]*\] +)?0%'
check 'so in the picture, with legends outside the data' eval \
    'grep -q "^set yrange .0:100. ; set ylabel .accuracy on 2000 test images, %" "$work/plot" &&
        grep "set key" "$work/plot" > "$work/keys" && ! grep -v "set key outside" "$work/keys"'

# A mistake is one sentence of rank 0, and no banner of the launcher's.
mpi 2 "$demo" --epoch 1 > "$work/out" 2>&1
check "a mistake over two ranks: status $?" [ $? -eq 2 ]
check 'one sentence' [ "$(grep -c '^train_fashion: unknown option' "$work/out")" -eq 1 ]
it_never_says 'MPI_Abort|MPI_ABORT|BAD TERMINATION'
echo "1..$count"
