#!/bin/sh
# Small problems on Oclgrind's device: the recorded bits, for its compiler is another one; and it reports races between
# work-items, accesses out of bounds and barriers that not all work-items reach. Each barrier of cl/gpu that is taken
# out is reported. Its --uninitialized stays off: 21.10 crashes on vectors and reports fma() of values that the host has
# written. Environment: srcdir, SYNCBN (the command), OCLGRIND. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
: "${SYNCBN:=tools/syncbn/syncbn}" "${OCLGRIND:=oclgrind}"

# Small tensors have several slices.
export SYNCBN_TUNING=slices=10000

# watch WHAT CONDITION FORM ARGUMENTS...: with Oclgrind's options $options, and without `restrict`, for which clang
# leaves an intrinsic that Oclgrind 21.10 does not know.
watch() {
    watched="form $3: $1" condition=$2 form=$3
    shift 3
    rm -f "$work/log"
    # shellcheck disable=SC2086
    "$OCLGRIND" $options --log "$work/log" "$SYNCBN" check --form "$form" --build-options '-D restrict=' "$@" \
        > "$work/out" 2> "$work/err"
    status=$?
    check "$watched, status $status" eval "$condition"
    no_faults 'nothing is reported' "$(cat "$work/log")"
}

options='--data-races --max-errors 20'
ended='[ $status -eq 0 ] && grep -q "^device 0: Oclgrind" "$work/out" && ! grep -q FATAL "$work/err"'
# Rows of one element; columns; blocks that are summed again; large planes in turns and slices; several
# batches of small ones; the wide format; step 3 within planes, and rows, with ends, and in place.
watch 'it runs on Oclgrind' "$ended" gpu mb20ic21,data=wide mb5ic19il3,last mb1ic2il300,data=step,grad=step \
    mb16ic16il65,passes=f mb20ic5il5,passes=f mb2ic3ih9iw9,grad=huge mb3ic17il2,last,grad=huge \
    mb1ic1il4099,relu,add,passes=f mb1ic5il257 mb256ic1il65,passes=f mb1ic1il65 mb3ic5il5,inplace mb1ic1il4099,inplace
# Blocks of either layout with tails, in buffers with offsets and in views; strips of all channels that one may have;
# rows of one element that do not fit the narrow format.
watch 'it runs on Oclgrind' "$ended" cpu mb2ic2048il2,last mb3ic17ih3iw3,last,off1 mb3ic5ih15iw17,off1 \
    mb5ic19il3,last,pitch3 mb2ic3il300,pitch1 mb3ic2048,eps=0 mb1ic2il300,data=step,grad=step mb2ic3ih9iw9,grad=huge \
    mb3ic17il2,last,grad=huge mb1ic17il64,last,pitch3 mb3ic17ih3iw3,relu,last mb3ic17ih3iw3,add,last \
    mb3ic17,data=huge,grad=huge

options=
grep -E '^mb(8ic37|3ic33il5)(,b?f16)?(,last)?,global' "$srcdir/tests/pass/golden" > "$work/tiny"
recorded=" 0 failed, $(grep -c . "$work/tiny") with the recorded bits;"
watch 'the recorded bits' '[ $status -eq 0 ] && grep -q "$recorded" "$work/out"' cpu --replicas 3 --file "$work/tiny"
watch 'the recorded bits' '[ $status -eq 0 ] && grep -q "$recorded" "$work/out"' gpu --replicas 2 --file "$work/tiny"
echo "1..$count"
