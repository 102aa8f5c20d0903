#!/bin/sh
# A binding from Python, by ctypes: tests/tools/ctypes_consumer.py.
# Environment: srcdir, PYTHON. Runs in the build directory.

: "${srcdir:=.}" "${PYTHON:=python3}"
shared=$(sed -n "s/^dlname='\(.*\)'/\1/p" libsyncbn.la)
if [ -z "$shared" ]; then
    echo '1..0 # SKIP configured without a shared library'
    exit 0
fi
if ! $PYTHON -c 'import ctypes' > /dev/null 2>&1; then
    echo "1..0 # SKIP $PYTHON is not installed, or has no ctypes"
    exit 0
fi
exec $PYTHON "$srcdir/tests/tools/ctypes_consumer.py" "$PWD/.libs/$shared" \
    "$srcdir/tests/model/data/network_f32.safetensors"
