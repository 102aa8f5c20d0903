#!/bin/sh
# make doc: no link is dead, each document and header has a page, and the first page leads to them.
# Environment: srcdir, DOXYGEN, VERSION.
. "${srcdir:=.}/tests/support/tap.sh"
${DOXYGEN:-doxygen} --version > /dev/null 2>&1 || skip_all 'doxygen is not installed'
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
