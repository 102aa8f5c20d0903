#!/bin/sh
# The reference implementation of safetensors, a package of Python, reads what the library
# writes. (That the library reads what it wrote is tests/model/checkpoint.) Skipped without it.
# Environment: srcdir, PYTHON. Runs in the build directory.

: "${srcdir:=.}" "${PYTHON:=python3}"
if ! "$PYTHON" -c 'import numpy, safetensors' 2> /dev/null; then
    echo "1..0 # SKIP $PYTHON has no packages safetensors and numpy"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

count=0
for type in f32 f16; do
    "$PYTHON" "$srcdir/tests/model/data/read_files.py" "$srcdir/tests/model/data/network_$type.safetensors" \
        "$work/new" tests/model/rewrite > "$work/tap"
    status=$?
    while IFS= read -r line; do
        case $line in
        'ok '* | 'not ok '*)
            count=$((count + 1))
            echo "${line%%ok *}ok $count - network_$type: ${line#* - }"
            ;;
        esac
    done < "$work/tap"
    count=$((count + 1))
    [ $status -eq 0 ] || printf 'not '
    echo "ok $count - network_$type: exit status $status"
done
echo "1..$count"
