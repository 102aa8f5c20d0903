#!/bin/sh
# The man pages: each renders without a warning or leads to one that does; every function, constant and subcommand has
# one; functions say what they return, and fields what they are. Environment: srcdir. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
pages=doc/man
[ -e $pages/stamp ] || pages=$srcdir/doc/man
[ -e "$pages/stamp" ] || skip_all 'configured without doxygen or help2man'
has man && has lexgrog || skip_all 'man is not installed'

# As they are installed, so that links find what they name.
mkdir -p "$work/man1" "$work/man3"
cp "$pages"/*.1 "$work/man1" && cp "$pages"/*.3 "$work/man3" || exit 1

# complaints FILES...: of man about the pages, and of what indexes them. Leaves FILE.text, a paragraph a line.
complaints() {
    for file in "$@"; do
        read -r first < "$file"
        case $first in
        '.so '*)
            [ -s "$work/${first#.so }" ] || echo "$file: leads nowhere"
            continue ;;
        esac
        MANPATH=$work MANWIDTH=1000 man --warnings -l "$file" 2>&1 > "$file.text" | sed "s,^,$file: ,"
        [ -s "$file.text" ] || echo "$file: empty"
        lexgrog "$file" > "$work/name" 2>&1 || echo "$file: no name and no purpose"
    done
}
cd "$work" || exit 1
no_faults "$(ls man1/* man3/* | wc -l) pages render or lead to one" "$(complaints man1/*.1 man3/*.3)"
mkdir bad && printf '.TH A 3\n.SH NAME\n' > bad/empty.3
printf '.TH A 3\n.SH NAME\na \\- b\n.nonsense\n.SS "unterminated \\f(X\n' > bad/wrong.3
printf '.so man3/nothing.3\n' > bad/link.3
for bad in empty wrong link; do
    check "a page that does not: $bad" [ -n "$(complaints bad/$bad.3)" ]
done
cd "$OLDPWD" || exit 1

if possible 'making the pages' 'doxygen or help2man is not installed' eval 'has doxygen && has help2man'; then
    mkdir "$work/a b"
    check_run 'pages are made where $TMPDIR has a blank' env TMPDIR="$work/a b" sh "$srcdir/doc/make-doc.sh" \
        man "$work/made" "$(cd "$srcdir" && pwd)" 0 "$PWD/tools/syncbn/syncbn"
    no_faults 'and none is empty' "$(find "$work/made" -empty)"
fi

# No text of a header is lost: what a page says is what the header says, word by word. A function that
# returns a status says so in two sections; where its comment does not, the page has the usual words.
words() {
    tr -cs 'A-Za-z0-9_' '\n' | tr 'a-z' 'A-Z' | grep . | paste -s -d ' ' -
}
text_of() { # FUNCTION: its comment
    awk -v name="$1" '/^\/\*/ { comment = "" } { comment = comment $0 "\n" }
        /^SBN_API/ && $0 ~ "[ *]" name "\\(" {
            sub(/\*\/.*/, "", comment)
            if (/^SBN_API int / && comment !~ /\n \* Return value\. /) {
                if (comment !~ /\n \* Errors\. /)
                    comment = comment "\n * Errors. SBN_INVALID_ARGUMENT: an argument is wrong.\n"
                sub(/\n \* Errors\. /, "\n * Return value. SBN_SUCCESS, or a negative status; " \
                    "sbn_last_error() has the sentence.&", comment)
            }
            print comment
        }' "$work/headers" |
        sed 's,^/\*,,; s,^ \*,,'
}
lost=
cat "$srcdir"/include/*.h "$srcdir"/include/syncbn/*.h > "$work/headers"
for name in $(sed '/^SBN_API/!d; s/^SBN_API [^(]*[ *]\([a-z0-9_]*\)(.*/\1/' "$work/headers"); do
    sed -n '/^DESCRIPTION/,/^SEE ALSO/p' "$work/man3/$name.3.text" | sed '1d;$d; s/^ *[o+] //' | words > "$work/is"
    text_of "$name" | words > "$work/should"
    grep -q . "$work/is" && cmp -s "$work/is" "$work/should" || lost="$lost $name"
done
no_faults 'a function'"'"'s page says what its comment says' "$lost"

links=$(sed -n 's/^\.BR \([a-z_.]*\) (3).*/\1/p' "$work"/man3/*.3 | sort -u | while read -r name; do
    [ -e "$work/man3/$name.3" ] || [ "$name" = syncbn-mpi.h ] || echo "$name"
done)
no_faults 'what SEE ALSO names has a page' "$links"

# silent FILES: fields and constants that a page names and says nothing of.
silent() {
    awk 'FNR == 1 { name = ""; fields = 0 }
        /^\.S[HS]|^\.TP/ { if (name != "") print FILENAME ": " name; name = "" }
        /^\.SH/ { fields = /FIELDS/ }
        /^\.SS/ && fields || was_tp { name = $0; was_tp = 0; next }
        { was_tp = /^\.TP/ }
        !/^\.|^ *$/ { name = "" }' "$@"
}
no_faults 'every field and every constant has a text' "$(silent "$work"/man3/s*.3)"
printf '.SH "FIELDS"\n.SS "int a"\n\n.PP\ntext\n.SS "int b"\n\n.SS "int c"\n\n.PP\ntext\n.SH "X"\n' > "$work/bare.3"
no_faults 'one without is found' "$([ "$(silent "$work/bare.3")" = "$work/bare.3: .SS \"int b\"" ] ||
    silent "$work/bare.3")"
constants=$(sed -n 's/^    \(SBN_[A-Z0-9_]*\) = .*/\1/p; s/^#define \(SBN_[A-Z_]*\)[ (][^_]*$/\1/p' \
    "$srcdir"/include/syncbn/*.h)
no_faults 'every constant and macro leads to a page' "$(for name in $constants; do
    grep -q '^\.so man3/s[a-z_.]*\.3$' "$work/man3/$name.3" 2> /dev/null || echo "$name"
done)"

commands=$(tools/syncbn/syncbn help | sed -n 's/^\([a-z]\{4,\}\)  .*/\1/p')
no_faults 'every subcommand has a page' "$(for name in $commands; do
    [ -s "$work/man1/syncbn-$name.1" ] || echo "$name"
done)"
no_faults 'every page of the command has EXAMPLES' "$(grep -L '^EXAMPLES' "$work"/man1/*.text)"
no_faults 'every option is on its page' "$(for name in $commands; do
    tools/syncbn/syncbn help $name | grep -oE '^  --[a-z-]+' | while read -r option; do
        grep -qE "^ +$option" "$work/man1/syncbn-$name.1.text" || echo "$name $option"
    done
done)"
echo "1..$count"
