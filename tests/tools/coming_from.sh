#!/bin/sh
# doc/coming-from.md: every row names a test, every test that it names is run by make check, and
# every call that it names is declared. Environment: srcdir.

. "${srcdir:=.}/tests/support/tap.sh"
doc=$srcdir/doc/coming-from.md

# A file, named in full, or a program or script in a list of a folder's local.mk.
is_test() {
    case $1 in
    tests/inputs/*) [ -f "$srcdir/$1" ] ;;
    *) cat "$srcdir"/tests/local.mk "$srcdir"/tests/*/local.mk | grep -v '\.[ch]\>' | tr '\t \\' '\n\n\n' | grep -qx "$1" ;;
    esac
}

is_declared() {
    cat "$srcdir"/include/syncbn/*.h "$srcdir"/include/*.h | tr -c 'A-Za-z0-9_' '\n' | grep -qx "$1"
}

bare=$(grep '^| ' "$doc" | grep -v -e '^| there ' -e '^| asked for ' -e '^| refused there ' |
    grep -v '`tests/[a-z_./]*`[^|]*|$')
check "every row names a test: ${bare:-none is without}" [ -z "$bare" ]
rows=$(grep -c '`tests/[a-z_./]*`[^|]*|$' "$doc")
check "there are $rows rows, 50 at least" [ "$rows" -ge 50 ]
for name in $(grep -o '`tests/[a-z_./]*`' "$doc" | tr -d '`' | sort -u); do
    check "$name is a test" is_test "$name"
done
for name in $(grep -oE '`[^`]*`' "$doc" | grep -oE '\b(sbn|SBN)_[A-Za-z0-9_]+' | sort -u); do
    check "$name is declared" is_declared "$name"
done
refuses() {
    ! "$@"
}
check 'an invented test is found out' refuses is_test tests/invented
check 'a source that is no test by itself is found out' refuses is_test tests/support/ranks.c
check 'an invented call is found out' refuses is_declared sbn_invented
echo "1..$count"
