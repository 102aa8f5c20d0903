#!/bin/sh
# The recorded bits of tests/pass/golden on every usable device, in the form of kernels that is chosen for it and, on
# CPUs, in that for GPUs; on all devices as one group; with denormals flushed; and without doubles. Then that other
# digests are refused.
#
# Optimised kernels take long to compile. Unless CHECK=full is set, the whole list is compared with kernels that are not
# optimised, and optimised ones, of the form that is chosen, have a part of it: every third of the floats without a
# fusion. Beside llvmpipe, on which each takes several times as long, devices of the GPU form have a third of these; the
# group of all devices has the same with kernels that are not optimised. Environment: srcdir, SYNCBN (the command),
# CHECK; OPTIMISED=cpu: only the whole list with optimised kernels of the CPU form; UNOPTIMISED: a build option by which
# a driver other than PoCL does not optimise either. Runs in the build directory.

export POCL_DEVICES="${POCL_DEVICES-pthread}" POCL_EXTRA_BUILD_FLAGS=
. "${srcdir:=.}/tests/support/on_devices.sh"

golden=$srcdir/tests/pass/golden

# run OPTIONS...: the exit status is left in $status.
unoptimised=
run() {
    # shellcheck disable=SC2086
    "$SYNCBN" check $unoptimised "$@" > "$work/out" 2> "$work/err"
    status=$?
}

# compare_with LIST: what `same` compares.
compare_with() {
    list=$1
    problems=$(grep -c '^mb' "$list")
}

# same OPTIONS...: every problem of the list must have been compared, and have the recorded bits.
same() {
    run --file "$list" "$@"
    compared=$(sed -n 's/^.* failed, \([0-9]*\) with the recorded bits; .*/\1/p' "$work/out")
    check "$*: the recorded bits of ${compared:-none} of $problems problems" [ "$status-$compared" = "0-$problems" ]
}

# each FORM OPTIONS...: on every device for which that form is chosen.
each() {
    wanted=$1
    shift
    while read -r device form name; do
        [ "$form" != "$wanted" ] || same --devices "$device" "$@"
    done < "$work/devices"
}

# of_three OPTIONS...: three replicas as one group. PoCL 3.1 may abort where several threads run a kernel
# (doc/devices.md).
of_three() {
    export POCL_MAX_PTHREAD_COUNT=1
    same --replicas 3 "$@"
    unset POCL_MAX_PTHREAD_COUNT
}

sed 's/^/# device, form and name: /' "$work/devices"
part=$golden
if [ "${CHECK-}" != full ]; then
    part=$work/part
    grep '^mb' "$golden" | grep -vE '^[^ ]*,(b?f16|relu|leaky|add|output)' | awk 'NR % 3 == 1' > "$part"
    if [ "${OPTIMISED-}" = cpu ]; then
        compare_with "$golden"
        each cpu
        echo "1..$count"
        exit
    fi
    awk 'NR % 3 == 2' "$part" > "$work/few"
    compare_with "$part"
    each cpu
    of_three --devices 0
    ! grep -q llvmpipe "$work/devices" || compare_with "$work/few"
    each gpu
    unoptimised=${UNOPTIMISED:+--build-options $UNOPTIMISED}
    export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
    [ "$(grep -c . "$work/devices")" -eq 1 ] || of_three
fi
compare_with "$golden"
each cpu
each cpu --form gpu
if [ "${CHECK-}" = full ]; then
    each gpu
    of_three
else
    of_three --devices 0
fi
# The rest is for one device: PoCL's alone, for each run would load Mesa's driver, and differs() compile for it.
pocl=/etc/OpenCL/vendors/pocl.icd
[ ! -e $pocl ] || export OCL_ICD_VENDORS="${OCL_ICD_VENDORS-$pocl}"
# What a device that flushes denormals does; tests/pass/denormals.c shows that it changes others. Sums of few batches
# (cl/common/accumulator.cl).
compare_with "$part"
same --devices 0 --build-options "-cl-denorms-are-zero -D BATCHES_TO_CARRY=1${unoptimised:+ $UNOPTIMISED}"
# What devices without doubles and without a fence have in their place; and many short sweeps (cl/gpu/wide_blocks.cl).
same --devices 0 --form gpu \
    --build-options "-D NO_DOUBLES -D NO_FENCE -D SWEEP=1 -D BATCHES_TO_CARRY=16${unoptimised:+ $UNOPTIMISED}"

# Equal digests would show nothing if lanes folded in another order did not change those of the kernels that
# fold so, channels first.
grep -E '^mb(8ic35ih7iw7|3ic5ih56iw56),(last,)?global' "$golden" > "$work/folded"
run --devices 0 --form cpu --build-options "-D REVERSED_LANES${unoptimised:+ $UNOPTIMISED}" --file "$work/folded"
check 'lanes folded in reverse: other bits, channels first' \
    eval 'grep -q "^4 problems, 2 failed, 2 with" "$work/out" && ! grep -q "^FAIL.*,last" "$work/out"'

# What does not need the wide format has the bits of version 2: these are known by their checksum. Where
# others are recorded, the format was needed, which the host tells where it combines: five replicas.
sed -n 's/^#2 //p; /^mb/p' "$golden" |
    awk '!seen[$1]++ { sub("order=3", "order=2"); print }' | cksum > "$work/version2"
check 'the digests of version 2 are known' grep -q '^2192830432 42354$' "$work/version2"
grep '^#2 ' "$golden" | while read -r _ line _; do echo "$line"; done > "$work/changed"
run --devices 0 --file "$work/changed" --replicas 5 --json - \
    mb8ic21ih7iw7,data=zero,grad=zero,global mb4ic9ih28iw28,data=inf,global
check 'where others are recorded, the wide format was needed; of zeros and infinities it is not' \
    [ "$status-$(grep -c '"wide": true' "$work/out")-$(grep -c '"wide": false' "$work/out")" = \
    "0-$(grep -c . "$work/changed")-2" ]

# Digests written here are those of the file, whose lines are canonical.
run --digests --devices 0 --file "$golden"
grep -v '^#' "$golden" > "$work/wanted"
check '--digests writes the list' eval '[ $status -eq 0 ] && cmp "$work/out" "$work/wanted"'

line=$(grep '^mb8ic37,global ' "$golden")
# differs STATUS EDIT WORDS: a line edited by sed ends so, with these words.
differs() {
    echo "$line" | sed "$2" > "$work/list"
    run -v --file "$work/list"
    expected=$1 words=$3
    check "$2: $3" eval '[ $status -eq $expected ] && cat "$work/out" "$work/err" | grep -qE -- "$words"'
}
differs 0 '' '^      mean .* running_var [0-9.]+; the recorded bits$'
differs 0 's/ .*//' '^      mean .* running_var [0-9.]+$'
differs 1 's/ y=.\{16\}/ y=0000000000000001/' \
    '^      other bits than recorded: y [0-9a-f]{16} instead of 0000000000000001$'
differs 1 's/ dx=[^ ]*//' '^      other bits than recorded: dx [0-9a-f]{16} instead of 0{16}$'
differs 1 's/,global/,global,passes=f/' 'other bits than recorded: recomputed 0{16} instead of '
differs 1 's/,global/,global,seed2/' '^      the inputs are not those of the digests: '
differs 1 's/order=3/order=1/' '^      digests of order 1 of summation cannot be compared with order 3$'
differs 2 's/ order=3//' 'list:1: digests need order= and inputs= among them$'
differs 2 's/ y=/ z=/' 'list:1: "z=[0-9a-f]{16}" is no digest: '
differs 2 's/ y=0*./ y=/' 'list:1: "y=[0-9a-f]{15}" is no digest: '
differs 2 's/ y=./ y=g/' 'list:1: "y=g[0-9a-f]{15}" is no digest: '
differs 2 's/$/ more/' 'list:1: "more" is no digest: '
echo "1..$count"
