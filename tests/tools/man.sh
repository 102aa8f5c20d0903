#!/bin/sh
# The man pages: each renders without a warning, and every exported function and every subcommand
# has one. Environment: srcdir, NM. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
: "${NM:=nm}"
pages=doc/man
[ -e $pages/stamp ] || pages=$srcdir/doc/man
[ -e "$pages/stamp" ] || skip_all 'configured without doxygen or help2man'
command -v man > /dev/null && command -v lexgrog > /dev/null || skip_all 'man is not installed'

# As they are installed, so that links find what they name.
mkdir -p "$work/man1" "$work/man3"
cp "$pages"/*.1 "$work/man1" && cp "$pages"/*.3 "$work/man3" || exit 1

# complaints FILES...: of man about the pages, and of what indexes them. Leaves FILE.text, a paragraph a line.
complaints() {
    for file in "$@"; do
        MANPATH=$work MANWIDTH=1000 man --warnings -l "$file" 2>&1 > "$file.text" | sed "s,^,$file: ,"
        [ -s "$file.text" ] || echo "$file: empty"
        lexgrog "$file" > "$work/name" 2>&1 || echo "$file: no name and no purpose"
    done
}
cd "$work" || exit 1
no_faults "$(ls man1/* man3/* | wc -l) pages render" "$(complaints man1/*.1 man3/*.3)"
mkdir bad && printf '.TH A 3\n.SH NAME\n' > bad/empty.3
printf '.TH A 3\n.SH NAME\na \\- b\n.nonsense\n.SS "unterminated \\f(X\n' > bad/wrong.3
printf '.so man3/nothing.3\n' > bad/link.3
for bad in empty wrong link; do
    no_faults "a page that does not: $bad" "$([ -n "$(complaints bad/$bad.3)" ] || echo 'not found out')"
done
cd "$OLDPWD" || exit 1

# No text of a header is lost: what a page says is what the header says, word by word.
words() {
    tr -cs 'A-Za-z0-9_' '\n' | grep . | paste -s -d ' ' -
}
text_of() { # HEADER FUNCTION: its comment
    awk -v name="$2" '/^\/\*/ { comment = "" } { comment = comment $0 "\n" }
        /^SBN_API/ && $0 ~ "[ *]" name "\\(" { sub(/\*\/.*/, "", comment); print comment }' "$1" |
        sed 's,^/\*,,; s,^ \*,,'
}
lost=
for header in "$srcdir"/include/*.h "$srcdir"/include/syncbn/*.h; do
    for name in $(sed -n 's/^SBN_API [^(]*[ *]\([a-z_]*\)(.*/\1/p' "$header"); do
        sed -n '/^DESCRIPTION/,/^SEE ALSO/p' "$work/man3/$name.3.text" | sed '1d;$d' | words \
            > "$work/is"
        text_of "$header" "$name" | words > "$work/should"
        cmp -s "$work/is" "$work/should" || lost="$lost $name"
    done
done
no_faults 'a function'"'"'s page says what its comment says' "$lost"

for library in libsyncbn.la libsyncbn-mpi.la; do
    shared=.libs/$(sed -n "s/^dlname='\(.*\)'/\1/p" $library 2> /dev/null)
    [ -f "$shared" ] || continue
    without=$($NM -D --defined-only "$shared" | sed 's/.* //; s/@.*//' | grep '^sbn_' |
        while read -r name; do
            grep -q "^\.TH \"$name\" 3" "$work/man3/$name.3" 2> /dev/null || echo "$name"
        done)
    no_faults "$library: every exported function has a page" "$without"
done
commands=$(tools/syncbn/syncbn help | sed -n 's/^\([a-z]\{4,\}\)  .*/\1/p')
without=$(for name in $commands; do
    [ -s "$work/man1/syncbn-$name.1" ] || echo "$name"
done)
no_faults 'every subcommand has a page' "$without"
unlike=$(for name in $commands; do
    grep -qE "^ {7}$(printf %-7s "$name")([a-z]|\$)" "$work/man1/syncbn.1.text" || echo "$name"
done)
no_faults "syncbn(1) sets all alike: $(echo $commands)" "$unlike"
no_faults 'every page of the command has EXAMPLES' "$(grep -L '^EXAMPLES' "$work"/man1/*.text)"
options=$(for name in $commands; do
    tools/syncbn/syncbn help $name | grep -oE '^  --[a-z-]+' | while read -r option; do
        grep -qE "^ +$option" "$work/man1/syncbn-$name.1.text" || echo "$name $option"
    done
done)
no_faults 'every option is on its page' "$options"
echo "1..$count"
