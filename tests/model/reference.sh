#!/bin/sh
# The reference implementation of safetensors, a package of Python, reads what the library
# writes. (That the library reads what it wrote is tests/model/checkpoint.) Skipped without it.
# Environment: srcdir, PYTHON. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
: "${PYTHON:=python3}"
"$PYTHON" -c 'import numpy, safetensors' 2> /dev/null ||
    skip_all "$PYTHON has no packages safetensors and numpy"
data=$srcdir/tests/model/data
PYTHONPATH=$srcdir/tests/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 \
    "$PYTHON" "$data/read_files.py" tests/model/checkpoint_files \
    "$work/new" "$data/network_f32.safetensors" "$data/network_f16.safetensors"
