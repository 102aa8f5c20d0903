#!/bin/sh
# embed-kernels.sh SRCDIR FILE...
#
# Writes to standard output a C file that defines, for each SRCDIR/FILE, its text
# as a NUL-terminated array, and the table of them that src/program/kernels.h declares.
# Arrays of characters, since C99 promises only 4095 characters in a string literal.
set -eu

srcdir=$1
shift

echo '/* Generated from cl/ by embed-kernels.sh; do not edit. */'
echo '#include "program/kernels.h"'

number=0
for file in "$@"; do
    number=$((number + 1))
    echo
    echo "/* $file */"
    echo "static const char text_${number}[] = {"
    # Octal escapes are ints that fit a char, whichever sign char has.
    od -An -v -to1 "$srcdir/$file" | sed "s/ *\([0-7]\{3\}\)/'\\\\\1',/g"
    echo "0};"
done

echo
echo 'const sbn_kernel_source sbn_kernel_sources[] = {'
number=0
for file in "$@"; do
    number=$((number + 1))
    echo "    {\"${file#cl/}\", text_$number, sizeof(text_$number) - 1},"
done
echo '    {0, 0, 0}};'
echo "const size_t sbn_kernel_source_count = $number;"
