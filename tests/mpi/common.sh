# What the tests over MPI share; sourced, not run, in the build directory. Environment: srcdir and that of launch.sh.

. "${srcdir:=.}/tests/support/tap.sh"
. "$srcdir/tools/bench/scaling/launch.sh"

# tap N PROGRAM ARGUMENTS...: a job whose rank 0 prints TAP, renumbered into this stream.
tap() {
    mpi "$@" > "$work/tap" 2> "$work/errors"
    status=$?
    renumber "$1 ranks: ${2##*/}" "$work/tap" $status
    [ $status -eq 0 ] || sed 's/^/# /' "$work/errors"
}

# problems N EVERY FROM LIST...: N ranks, and of the problems of the lists every so many-th, but for the GPU form of
# 70001 channels, of which PoCL computes one in seconds: tests/tools/check.sh has those.
problems() {
    ranks=$1 every=$2 from=$3
    shift 3
    awk -v every="$every" -v from="$from" '/^[^#]/ && n++ % every == from && !/70001.*gpu/' "$@" > "$work/problems"
    tap "$ranks" tests/mpi/problems "$work/problems"
}
