#!/bin/sh
# doc/coming-from.md: every row names a test, every test that it names is run by make check, and every call that it
# names is declared. make doc: no link is dead, each document and header has a page, and the first page leads to them.
# Environment: srcdir, DOXYGEN.
. "${srcdir:=.}/tests/support/tap.sh"
doc=$srcdir/doc/coming-from.md

# A file, named in full, or a program or script in a list of a folder's local.mk.
is_test() {
    case $1 in
    tests/inputs/*) [ -f "$srcdir/$1" ] ;;
    *) grep -hv '\.[ch]\>' "$srcdir"/tests/local.mk "$srcdir"/tests/*/local.mk | tr '\t \\' '\n\n\n' | grep -qx "$1" ;;
    esac
}

bare=$(grep '^| ' "$doc" | grep -v -e '^| there ' -e '^| asked for ' -e '^| refused there ' |
    grep -v '`tests/[a-z_./]*`[^|]*|$')
check "every row names a test: ${bare:-none is without}" [ -z "$bare" ]
rows=$(grep -c '`tests/[a-z_./]*`[^|]*|$' "$doc")
check "there are $rows rows, 50 at least" [ "$rows" -ge 50 ]
for name in $(grep -o '`tests/[a-z_./]*`' "$doc" | tr -d '`' | sort -u); do
    check "$name is a test" is_test "$name"
done
cat "$srcdir"/include/syncbn/*.h "$srcdir"/include/*.h | tr -c 'A-Za-z0-9_' '\n' > "$work/words"
for name in $(grep -oE '`[^`]*`' "$doc" | grep -oE '\b(sbn|SBN)_[A-Za-z0-9_]+' | sort -u); do
    check "$name is declared" grep -qx "$name" "$work/words"
done
check 'a source that is no test by itself is found out' eval '! is_test tests/support/ranks.c'

${DOXYGEN:-doxygen} --version > "$work/out" 2>&1 || lacks 'doxygen is not installed'
top=$(cd "$srcdir" && pwd)

# dead FOLDER: links of its pages to files and anchors that are not there.
dead() {
    for page in "$1"/*.html; do
        grep -oE '(href|src)="[^":]+"' "$page" | sed 's/.*="//; s/"$//' | sort -u |
            while IFS='#' read -r file anchor; do
                to=$1/${file:-${page##*/}}
                [ -e "$to" ] && { [ -z "$anchor" ] || grep -qE "(id|name)=\"$anchor\"" "$to"; } ||
                    echo "${page##*/}: $file${anchor:+#$anchor}"
            done
    done
}
check_run 'it is made' sh "$top/doc/make-doc.sh" html "$work" "$top" 1.2.3
it_never_says 'warning: end of comment block'
no_faults 'no link is dead' "$(dead "$work/html")"
mkdir "$work/planted"
echo '<a id="here"></a><a href="#here">a</a><a href="#there">b</a><a href="nowhere.html">c</a>' \
    > "$work/planted/page.html"
no_faults 'a planted one is found, and a good one is none' "$([ "$(dead "$work/planted")" = \
    "$(printf 'page.html: #there\npage.html: nowhere.html')" ] || dead "$work/planted")"

first=$work/html/index.html
no_faults 'the first page leads to every header and document' "$(
    for header in "$top"/include/*.h "$top"/include/syncbn/*.h; do
        page=$(echo "${header##*/}" | sed 's/_/__/g; s/\.h$/_8h.html/')
        grep -q "href=\"$page\"" "$first" || echo "$page"
    done
    for document in "$top"/doc/*.md; do
        name=$(basename "$document" .md)
        # doxygen 1.9.4 (Debian 12) and 1.9.8 name a page differently.
        page="md_doc_($(echo "$name" | sed 's/-/_/g')|2$name)\.html"
        [ "$name" = manual ] || grep -qE "href=\"$page\"" "$first" || echo "$page"
    done)"
echo "1..$count"
