#!/bin/sh
# Each shared library exports exactly the functions that its public headers
# declare with SBN_API: none is missing, and nothing of the inside shows.
# Environment: srcdir, NM. Runs in the build directory.

: "${srcdir:=.}" "${NM:=nm}"

shared=$(sed -n "s/^dlname='\(.*\)'/\1/p" libsyncbn.la)
if [ -z "$shared" ]; then
    echo '1..0 # SKIP configured without a shared library'
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

number=0
# check WHAT NAMES: passes when NAMES is empty.
check() {
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
    fi
}

# library LA HEADERS...
library() {
    la=$1
    shift
    shared=$(sed -n "s/^dlname='\(.*\)'/\1/p" "$la")
    # Declarations may run over several lines: everything in one, then one per ';'.
    cat "$@" | tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/.*SBN_API [^(]*[ *]\([A-Za-z0-9_]*\) *(.*/\1/p' | sort > "$work/declared"
    $NM -D --defined-only ".libs/$shared" | sed 's/.* //; s/@.*//' | sort > "$work/exported"
    check "$la: the headers declare $(wc -l < "$work/declared") functions" \
        "$([ -s "$work/declared" ] || echo none)"
    check "$la: every declared function is exported" \
        "$(comm -23 "$work/declared" "$work/exported")"
    check "$la: nothing else is exported" "$(comm -13 "$work/declared" "$work/exported")"
}

library libsyncbn.la "$srcdir"/include/syncbn.h "$srcdir"/include/syncbn/*.h
[ ! -e libsyncbn-mpi.la ] || library libsyncbn-mpi.la "$srcdir"/include/syncbn-mpi.h

# The core knows nothing of MPI.
check 'libsyncbn.la: no symbol of MPI' "$($NM -D ".libs/$(sed -n "s/^dlname='\(.*\)'/\1/p" \
    libsyncbn.la)" | grep -E ' P?MPI_')"
# Nor of a library that reads what comes from outside: jansson is the command's.
check 'libsyncbn.la: no symbol of jansson' "$($NM -D ".libs/$(sed -n "s/^dlname='\(.*\)'/\1/p" \
    libsyncbn.la)" | grep -E ' json_')"
echo "1..$number"
