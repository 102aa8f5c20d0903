#!/bin/sh
# The demo as README.md has it, from its first step to its last: both accuracies are those that the page
# gives, to the last digit. Environment: srcdir. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
be_patient
CI=true needs_demo

figures() {
    sed -n 's/^ *\(seed 1, [a-z-]* *test accuracy [0-9.]* %\).*/\1/p' "$1" | sort
}
"$demo" --out "$work/fashion" > "$work/out" 2>&1
status=$?
sed 's/^/# /' "$work/out"
figures "$work/out" > "$work/is"
figures "$srcdir/README.md" > "$work/should"
check "it ends with status $status" [ $status -eq 0 ]
for kind in per-replica synchronised; do
    should=$(grep "^seed 1, $kind " "$work/should")
    check "README.md: ${should:-has no line of $kind}" [ -n "$should" ]
    check "and so it comes: $(grep "^seed 1, $kind " "$work/is")" \
        [ "$should" = "$(grep "^seed 1, $kind " "$work/is")" ]
done
echo "1..$count"
