#!/bin/sh
# embed-kernels.sh FOLDER LIST...
#
# Writes to standard output a C file that defines what src/program/kernels.h declares: the texts of
# the kernels' files below FOLDER, as NUL-terminated arrays, and the programs, one for each LIST. A
# line of a list names a file; a word behind it says which variants of the program have the file.
# Arrays of characters, since C99 promises only 4095 characters in a string literal.
set -eu

folder=$1
shift

# lines LIST: its lines without comments.
lines() {
    sed '/^#/d; /^$/d' "$1"
}

echo '/* Generated from cl/ by embed-kernels.sh; do not edit. */'
echo '#include "program/kernels.h"'

files=$(for list in "$@"; do lines "$list"; done | awk '!seen[$1]++ { print $1 }')
for file in $files; do
    echo
    echo "static const char text_$(echo "$file" | tr '/.' '__')[] = {"
    # Octal escapes are ints that fit a char, whichever sign char has.
    od -An -v -to1 "$folder/$file" | sed "s/ *\([0-7]\{3\}\)/'\\\\\1',/g"
    echo "0};"
done

for list in "$@"; do
    name=${list##*/}
    echo
    echo "static const sbn_kernel_source ${name%.list}[] = {"
    lines "$list" | while read -r file use; do
        text=text_$(echo "$file" | tr '/.' '__')
        case $use in
        '') use=ALWAYS ;;
        plain) use=PLAIN ;;
        sums) use=SUMS ;;
        *)
            echo "embed-kernels.sh: $list: expected \"plain\" or \"sums\", got \"$use\"" >&2
            exit 1
            ;;
        esac
        echo "    {\"$file\", $text, sizeof $text - 1, SBN_USE_$use},"
    done
    echo '    {0, 0, 0, 0}};'
done

echo
echo 'const sbn_kernel_list sbn_kernel_lists[] = {'
for list in "$@"; do
    name=${list##*/}
    echo "    {\"${name%.list}\", ${name%.list}},"
done
echo '    {0, 0}};'
