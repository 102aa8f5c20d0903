#!/bin/sh
# Runs every list of problems in tests/inputs on each usable device alone and on all of them as one group,
# by `syncbn check`. Environment: as of tests/support/on_devices.sh. Runs in the build directory.

. "${srcdir:=.}/tests/support/on_devices.sh"

grep -hv -e '^#' -e '^ *$' "$srcdir"/tests/inputs/* > "$work/all"
run_on_devices
echo "1..$count"
