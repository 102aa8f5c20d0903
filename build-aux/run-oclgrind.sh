#!/bin/sh
# run-oclgrind.sh OCLGRIND PROGRAM [ARGUMENT...]
#
# Runs a test program on Oclgrind's device with its checks on. Oclgrind reports
# races, bounds and diverging barriers, but leaves the exit status alone: here
# any report fails the program. Its --uninitialized stays off: 21.10 crashes on
# vectors and reports fma() of values that the host has written.
set -u

oclgrind=$1
shift

report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT

"$oclgrind" --data-races --max-errors 20 --log "$report" "$@"
status=$?

if [ -s "$report" ]; then
    echo '# Oclgrind reports:'
    sed 's/^/# /' "$report"
    [ "$status" -ne 0 ] || status=1
fi
exit "$status"
