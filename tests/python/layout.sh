#!/bin/sh
# The package's structs and constants against the headers: tests/python/layout.py.
# Environment: srcdir, PYTHON, CC.

. "${srcdir:=.}/tests/python/common.sh"
: "${PYTHON:=python3}" "${CC:=cc}"
$PYTHON -c 'import ctypes' > /dev/null 2>&1 || skip_all "$PYTHON is not installed, or has no ctypes"
# shellcheck disable=SC2086
$PYTHON "$srcdir/tests/python/layout.py" "$srcdir/include" "$work" $CC ${OPENCL_CFLAGS-}
