#!/bin/sh
# The demo as README.md has it, from its first step to its last: both accuracies are those that the page
# gives, to the last digit. Environment: srcdir. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
be_patient
CI=true needs_demo

figures() {
    sed -n 's/^ *\(seed 1, [a-z-]* *test accuracy [0-9.]* %\).*/\1/p' "$1" | sort | paste -s -d ';' -
}
check_run 'it ends well' "$demo" --out "$work/fashion"
sed 's/^/# /' "$work/out"
is=$(figures "$work/out") should=$(figures "$srcdir/README.md")
check "README.md has both: $should" eval 'echo "$should" | grep -q "^seed 1, per-replica .*;seed 1, synchronised "'
check "and so they come: $is" [ "$is" = "$should" ]
echo "1..$count"
