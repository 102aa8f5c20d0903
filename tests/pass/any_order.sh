#!/bin/sh
# Commands run in any order that wait lists and queues allow, and nothing comes out other than before: a layer of
# OpenCL's loader (tests/support/any_order.c) holds the commands of tests/pass/any_order, of problems and of other
# tests. By hand: OPENCL_LAYERS=$PWD/tests/pass/any_order.so ANY_ORDER=0 PROGRAM.
# Environment: srcdir, CC, SBN_CFLAGS, OPENCL_CFLAGS, SYNCBN (the command). Runs in the build directory.
# shellcheck source=tests/support/command.sh
. "${srcdir:=.}/tests/support/command.sh"

# A tool watches the program itself.
if [ -n "${SBN_TEST_UNDER-}" ]; then
    check 'random calls, and the host combines' eval 'tests/pass/any_order 16 > "$work/out" 2> "$work/err"'
    echo "1..$count"
    exit
fi
# Commands run one at a time, in the thread that waits.
export POCL_DEVICES=basic
layer=$PWD/tests/pass/any_order.so
# shellcheck disable=SC2086
${CC:=cc} ${SBN_CFLAGS-} ${OPENCL_CFLAGS-} -DCL_TARGET_OPENCL_VERSION=300 -D_GNU_SOURCE -fPIC -pthread -shared \
    -o "$layer" "$srcdir/tests/support/any_order.c" > "$work/err" 2>&1 || {
    show "$work/err"
    lacks "the layer was not compiled"
}

# under SEED COMMAND...
under() {
    ANY_ORDER=$1
    shift
    ANY_ORDER=$ANY_ORDER OPENCL_LAYERS=$layer "$@"
}
under '' "$SYNCBN" devices > "$work/out" 2>&1
grep -q any_order "$work/out" || lacks "OpenCL's loader takes no layers"

[ "${CHECK-}" = full ] && many=300 || many=64
sequences() {
    under "$1" tests/pass/any_order "$many" > "$work/out" 2> "$work/err" &&
        grep '^# sequence' "$work/out" | cmp -s - "$work/digests"
}
check 'random calls, and the host combines' eval 'tests/pass/any_order "$many" > "$work/out" 2> "$work/err"'
grep '^# sequence' "$work/out" > "$work/digests"
check 'there are digests' [ -s "$work/digests" ]
for seed in 0 1; do
    check "random calls: seed $seed" sequences $seed
done

# Memory of the host, as it is and (seeds from 2) copied; gradients, running statistics and masks that are given or moved.
cat > "$work/problems" <<'END'
mb6ic7ih7iw7,relu,add,r3,ooo,host
mb6ic7il300,relu,r2,host,byhost
mb6ic19il7,r2,given0,ooo,host,global
mb6ic19il7,r2,off3,given1,host,byhost,begin,form=gpu
mb6ic5il40,leaky,output,r2,ooo,copied,accumulate
mb6ic7ih7iw7,frozen,r2,ooo,accumulate,copied,byhost
mb6ic7ih7iw7,r3,branch1,relu,begin,ooo
mb6ic7ih7iw7,r3,relu,given1,ooo,form=gpu,host
mb8ic5ih56iw56,r1,ooo,byhost
END
for seed in 0 2; do
    under $seed "$SYNCBN" check --tap --devices 0 --file "$work/problems" > "$work/tap" 2> "$work/err"
    renumber "seed $seed" "$work/tap" $?
done
for test in model/checkpoint parallel/exchange pass/branches pass/saved; do
    check_run "tests/$test" under 0 "tests/$test"
done

# What has lost waits is seen.
export ANY_ORDER_DROPS=3
others() {
    under 0 tests/pass/any_order "$many" > "$work/out" 2> "$work/err"
    grep '^# sequence' "$work/out" > "$work/others"
    [ "$(wc -l < "$work/others")" -eq "$(wc -l < "$work/digests")" ] && ! cmp -s "$work/others" "$work/digests"
}
check 'as many, and other digests, where every third wait list is dropped' others
echo "1..$count"
