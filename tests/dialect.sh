#!/bin/sh
# One dialect of C, where clang-format has no option for it: a variable that is only counted up or
# down has the operator in front. Braces and all else are make check-format's. Environment: srcdir.

: "${srcdir:=.}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

# result WHAT FAULTS: passes when FAULTS is empty.
result() {
    count=$((count + 1))
    if [ -z "$2" ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# behind FOLDERS...: statements, and last clauses of for, that end in ++ or --.
behind() {
    find "$@" \( -name '*.[ch]' -o -name '*.cl' \) -exec grep -nE \
        -e '^[[:space:]]*[A-Za-z_][^ (*=]*(\+\+|--);' \
        -e '(\)|else|[;}{]) [A-Za-z_][^ (*=]*(\+\+|--);' \
        -e '[;,] [A-Za-z_][^ (*=]*(\+\+|--)(,.*)?\)( |$)' {} /dev/null \;
}

for folder in include src cl tools tests examples; do
    result "$folder: ++i where the value is not used" "$(behind "$srcdir/$folder")"
done

# planted LINE: is found.
planted() {
    printf '%s\n' "$1" > "$work/planted.c"
    result "planted, refused: $1" "$([ -n "$(behind "$work")" ] || echo 'not found')"
}
planted '    i++;'
planted '    count->of[k]--;'
planted '    if (found) found++;'
planted '    else s.found++;'
planted 'for (int i = 0; i < n; i++)'
planted 'for (int i = 0; i < n; i++) {'
planted 'for (int i = 0; i < n; i++, ++k)'
planted 'for (int i = 0; i < n; ++i, k++)'

printf '%s\n' 'a[count++] = 1;' 'while (n-- > 0)' 'f(a, first++);' 'for (int i = 9; i-- > 0;)' \
    > "$work/planted.c"
result 'where the value is used it may stand behind' "$(behind "$work")"
echo "1..$count"
