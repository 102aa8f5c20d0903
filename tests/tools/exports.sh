#!/bin/sh
# Each shared library exports exactly the functions that its public headers declare with SBN_API: none is missing, and
# nothing of the inside shows. Environment: srcdir, NM. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
: "${NM:=nm}"

# symbols LA [OPTION]: as nm has them.
symbols() {
    $NM -D ${2-} ".libs/$(sed -n "s/^dlname='\(.*\)'/\1/p" "$1")"
}
grep -q "^dlname='.\+'" libsyncbn.la || skip_all 'configured without a shared library'

# library LA HEADERS...
library() {
    la=$1
    shift
    # Declarations may run over several lines: everything in one, then one per ';'.
    cat "$@" | tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/.*SBN_API [^(]*[ *]\([A-Za-z0-9_]*\) *(.*/\1/p' | sort > "$work/declared"
    # The names of versions are symbols, too, of type A.
    symbols "$la" --defined-only | sed '/ A SYNCBN_/d; s/.* //; s/@.*//' | sort > "$work/exported"
    check "$la: the headers declare $(wc -l < "$work/declared") functions" [ -s "$work/declared" ]
    no_faults "$la: every declared function is exported" "$(comm -23 "$work/declared" "$work/exported")"
    no_faults "$la: nothing else is exported" "$(comm -13 "$work/declared" "$work/exported")"
}

library libsyncbn.la "$srcdir"/include/syncbn.h "$srcdir"/include/syncbn/*.h
[ ! -e libsyncbn-mpi.la ] || library libsyncbn-mpi.la "$srcdir"/include/syncbn-mpi.h

headers=$(echo "$srcdir"/include/*.h "$srcdir"/include/syncbn/*.h)
# Structs that callers fill begin with their size; sbn_buffer, a part of others, does not.
no_faults 'public structs begin with their size' "$(cat $headers | awk '
    /^typedef struct sbn_.*\{/ { name = $3; getline; if ($0 !~ /^    size_t size;/) print name }' |
    grep -vx sbn_buffer)"
no_faults 'every public struct has an _INIT macro' "$(cat $headers |
    sed -n 's/^typedef struct \(sbn_[a-z_]*\) {/\1/p' | tr 'a-z' 'A-Z' | while read -r name; do
    grep -q "^#define ${name}_INIT" $headers || echo "$name"; done)"

# The core knows nothing of MPI, nor of jansson, which reads what comes from outside for the command.
no_faults 'libsyncbn.la: no symbol of MPI or jansson' "$(symbols libsyncbn.la | grep -E ' (P?MPI|json)_')"
echo "1..$count"
