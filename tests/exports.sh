#!/bin/sh
# The shared library exports exactly the functions that the public headers
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

# Declarations may run over several lines: everything in one, then one per ';'.
cat "$srcdir"/include/syncbn.h "$srcdir"/include/syncbn/*.h | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/.*SBN_API [^(]*[ *]\([A-Za-z0-9_]*\) *(.*/\1/p' | sort > "$work/declared"
$NM -D --defined-only ".libs/$shared" | sed 's/.* //; s/@.*//' | sort > "$work/exported"

echo 1..3

[ -s "$work/declared" ] || printf 'not '
echo "ok 1 - the headers declare $(wc -l < "$work/declared") functions"

# check NUMBER WHAT NAMES: passes when NAMES is empty.
check() {
    if [ -z "$3" ]; then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2"
        echo "$3" | sed 's/^/# /'
    fi
}
check 2 'every declared function is exported' "$(comm -23 "$work/declared" "$work/exported")"
check 3 'nothing else is exported' "$(comm -13 "$work/declared" "$work/exported")"
