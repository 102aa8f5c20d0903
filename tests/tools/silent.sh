#!/bin/sh
# Kernels compile without a warning: PoCL prints how many there were, in the middle of a call. Runs in
# the build directory. Environment: srcdir, SYNCBN (the command).
# shellcheck source=tests/support/command.sh
. "${srcdir:=.}/tests/support/command.sh"

mkdir "$work/cache" || exit 1
silently() { # PROBLEM: what the one before has not compiled is compiled anew
    POCL_CACHE_DIR=$work/cache run 0 check --devices 0 --form cpu "$1" && [ ! -s "$work/err" ]
}

"$SYNCBN" devices 2> "$work/err" | sed -n 1p | grep -q 'Portable Computing Language' ||
    skip_all 'device 0 is not PoCL'
for problem in mb2ic16ih9iw9 mb2ic16ih9iw9,relu,add; do
    check "$problem" silently $problem
done
echo "1..$count"
