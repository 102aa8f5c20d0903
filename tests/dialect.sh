#!/bin/sh
# What make check-format cannot hold: a variable that is only counted up or down has the operator in
# front, and sentences say "expected X, got Y". Environment: srcdir.

. "${srcdir:=.}/tests/support/tap.sh"

# behind FOLDERS...: statements, and last clauses of for, that end in ++ or --.
behind() {
    find "$@" \( -name '*.[ch]' -o -name '*.cl' \) -exec grep -nE \
        -e '^[[:space:]]*[A-Za-z_][^ (*=]*(\+\+|--);' \
        -e '(\)|else|[;}{]) [A-Za-z_][^ (*=]*(\+\+|--);' \
        -e '[;,] [A-Za-z_][^ (*=]*(\+\+|--)(,.*)?\)( |$)' {} /dev/null \;
}

# expected_late FOLDERS...: literals that say "X was expected, Y came".
expected_late() {
    find "$@" -name '*.[ch]' -exec grep -nE -e '"[^"]*(was|were) expected' \
        -e '"[^"]*[^a-z_]came[^a-z_]' -e '"came[^a-z_]' {} /dev/null \;
}

for folder in include src cl tools tests examples; do
    no_faults "$folder: ++i where the value is not used" "$(behind "$srcdir/$folder")"
    no_faults "$folder: expected X, got Y" "$(expected_late "$srcdir/$folder")"
done

# planted LINE [FINDER]: is found.
planted() {
    printf '%s\n' "$1" > "$work/planted.c"
    no_faults "planted, refused: $1" "$([ -n "$("${2:-behind}" "$work")" ] || echo 'not found')"
}
planted '    i++;'
planted '    count->of[k]--;'
planted '    if (found) found++;'
planted '    else s.found++;'
planted 'for (int i = 0; i < n; i++)'
planted 'for (int i = 0; i < n; i++) {'
planted 'for (int i = 0; i < n; i++, ++k)'
planted 'for (int i = 0; i < n; ++i, k++)'
planted '"rank: 0 to %d was expected, %d came"' expected_late
planted '"%s: two integers from 0 were expected"' expected_late
planted '"rank %d of %d came",' expected_late
planted '"came|rank -1 of 2"' expected_late

printf '%s\n' 'a[count++] = 1;' 'while (n-- > 0)' 'f(a, first++);' 'for (int i = 9; i-- > 0;)' \
    > "$work/planted.c"
no_faults 'where the value is used it may stand behind' "$(behind "$work")"
printf '%s\n' '"rank: expected 0 to %d, got %d"' '/* Says what was expected, and came[0]. */' 'f(came, "x");' \
    > "$work/planted.c"
no_faults 'the new form, comments and code are not refused' "$(expected_late "$work")"
echo "1..$count"
