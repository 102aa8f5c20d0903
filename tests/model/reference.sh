#!/bin/sh
# The reference implementation of safetensors, a package of Python, reads what the library
# writes. (That the library reads what it wrote is tests/model/checkpoint.) Skipped without it.
# Environment: srcdir, PYTHON. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
: "${PYTHON:=python3}"
"$PYTHON" -c 'import numpy, safetensors' 2> /dev/null ||
    skip_all "$PYTHON has no packages safetensors and numpy"

for type in f32 f16; do
    "$PYTHON" "$srcdir/tests/model/data/read_files.py" "$srcdir/tests/model/data/network_$type.safetensors" \
        "$work/new" tests/model/rewrite > "$work/tap"
    status=$?
    renumber "network_$type" "$work/tap" $status
    check "network_$type: exit status $status" [ $status -eq 0 ]
done
echo "1..$count"
