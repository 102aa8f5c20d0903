#!/bin/sh
# make-doc.sh man|html OUT SRCDIR VERSION [COMMAND]: man pages into OUT, of the public headers by
# doxygen and of COMMAND, the built syncbn, by help2man; or HTML into OUT/html, of the headers and
# the documents. The same sources give the same bytes.
set -eu
kind=$1 out=$2 srcdir=$3 version=$4 command=${5-}
aux=$srcdir/build-aux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C SOURCE_DATE_EPOCH=0

# The settings that depend on where things are.
{
    cat "$srcdir/doc/Doxyfile"
    echo "PROJECT_NUMBER = $version"
    echo "FILTER_PATTERNS = \"*.h=${AWK:-awk} -f '$aux/doxygen-filter.awk'\" \\"
    echo "    \"*.md=${AWK:-awk} -f '$aux/doxygen-markdown.awk'\""
    echo "OUTPUT_DIRECTORY = \"$work\""
    echo "STRIP_FROM_PATH = \"$srcdir/include\" \"$srcdir\""
    echo "STRIP_FROM_INC_PATH = \"$srcdir/include\""
    if [ "$kind" = man ]; then
        echo "INPUT = \"$srcdir/include\""
        echo 'GENERATE_HTML = NO'
        echo 'GENERATE_MAN = YES'
        echo 'WARN_AS_ERROR = FAIL_ON_WARNINGS'
    else
        echo "INPUT = \"$srcdir/include\" \"$srcdir/README.md\" \"$srcdir/INSTALL.md\""
        echo "INPUT += \"$srcdir/CONTRIBUTING.md\" \"$srcdir/SECURITY.md\" \"$srcdir/doc\""
        echo "USE_MDFILE_AS_MAINPAGE = \"$srcdir/doc/manual.md\""
        echo "IMAGE_PATH = \"$srcdir/doc\" \"$srcdir/examples/fashion\""
        echo "HTML_EXTRA_STYLESHEET = \"$srcdir/doc/manual.css\""
    fi
} > "$work/Doxyfile"
"${DOXYGEN:-doxygen}" "$work/Doxyfile"

if [ "$kind" = html ]; then
    # Links to other files of the tree, as examples, get copies of them.
    for page in "$work"/html/*.html; do
        grep -oE '(href|src)="[^"#:]+"' "$page" | sed 's/.*="//; s/"$//' | sort -u |
            while read -r link; do
                file=${link##*../}
                [ ! -e "$work/html/$link" ] && [ -f "$srcdir/$file" ] || continue
                mkdir -p "$work/html/${file%/*}"
                cp "$srcdir/$file" "$work/html/$file"
                sed "s,\"$link\",\"$file\",g" "$page" > "$work/page"
                cp "$work/page" "$page"
            done
    done
    rm -rf "$out/html"
    mv "$work/html" "$out/html"
    exit
fi

mkdir "$work/pages"
rm -f "$work"/man/man3/_*
"${AWK:-awk}" -v out="$work/pages" -v version="$version" -f "$aux/man-pages.awk" "$work"/man/man3/*

# help2man takes its page's name from the program: one for each subcommand, which asks ours for its
# help, with the headings that help2man knows.
page() { # NAME WHAT HELP...
    name=$1 what=$2
    shift 2
    cat > "$work/$name" <<END
#!/bin/sh
case \$1 in
    --version) echo "$name $version" ;;
    *) "$command" $* | sed 's/^usage: /Usage: /; s/^       syncbn /  or:  syncbn /
        s/^\([a-z]\{4,\}   *\)\([a-z]*s \)/  \1  \2/' ;;
esac
END
    chmod +x "$work/$name"
    # It runs the name in a shell: $work may have a blank.
    (cd "$work" && "${HELP2MAN:-help2man}" --no-info --name="$what" --manual=syncbn --source="syncbn $version" \
        --include="$srcdir/doc/syncbn.h2m" --output=page "./$name")
    sed 's/^\(\.TH [A-Z-]* "*1"*\) "[^"]*"/\1 ""/; s/^Exit status: /.SH "EXIT STATUS"\n/' "$work/page" \
        > "$work/pages/$name.1"
}
page syncbn 'checks, measures and inspects synchronised batch normalisation' help
page syncbn-devices 'lists OpenCL devices, and whether syncbn can use them' help devices
page syncbn-check 'compares batch normalisation with a float64 reference' help check
page syncbn-bench 'measures the speed of batch normalisation' help bench
page syncbn-tune 'finds numbers of the launch plan that a device is faster with' help tune
page syncbn-inspect 'shows the layers of a checkpoint, and what looks wrong with them' help inspect

mkdir -p "$out"
rm -f "$out"/*.[13]
mv "$work"/pages/*.[13] "$out"
