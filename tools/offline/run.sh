#!/bin/sh
# Run by make check-offline, in the build directory: fetches the code generators, then checks. TAP.
# Environment: srcdir, PYTHON, TARGETS (all of tools/offline/targets.py).
set -u
: "${srcdir:=.}" "${TARGETS:=}"
[ -n "${PYTHON-}" ] || PYTHON=python3
export PYTHON
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

mkdir -p offline || exit 1
# What cannot be had fails where it is used.
sh "$srcdir/tools/offline/install.sh" "$PWD/offline/tools" 2>&1 | sed 's/^/# /'
exec "$PYTHON" "$srcdir/tools/offline/check.py" --library tools/offline/library \
    --tools offline/tools --out offline/out --limits "$srcdir/tools/offline/limits" \
    --targets "$TARGETS"
