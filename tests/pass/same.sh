#!/bin/sh
# The bits of a problem are the same however it is computed: tests/pass/same names problems and, behind each paragraph
# of them, what must not change their bits. Digests are those that PoCL's device computes, by one replica in the CPU
# form; they must come out there and, of what || stands before, on each other usable device alone and on all of them as
# one group. Environment: as of tests/support/on_devices.sh. Runs in the build directory.

[ -z "${SBN_TEST_UNDER-}" ] || export POCL_DEVICES=pthread RUSTICL_ENABLE= CI= # under a tool, one device
# PoCL 3.1 aborts where three and more of one kernel run at once (doc/devices.md), as they do with three replicas.
export POCL_MAX_PTHREAD_COUNT=1
. "${srcdir:=.}/tests/support/on_devices.sh"

first=$(awk '/pthread/ { print $1 }' "$work/devices" | head -n 1)
: "${first:=0}"
grep -h '^mb' "$srcdir/tests/pass/same" > "$work/bases"
# shellcheck disable=SC2086
"$SYNCBN" check --digests --devices "$first" --replicas 1 --form cpu --file "$work/bases" $unoptimised \
    > "$work/out" 2> "$work/err"
sed -n 's/^mb[^ ]*//p' "$work/out" > "$work/digests"
# Of all pairs `choose` takes every 6th, 24th or 120th.
problems=$(awk '/^\|/ { exit } /^mb/' "$srcdir/tests/pass/same" | grep -c .)
check "$problems problems first: a sample has other ones of each change" \
    [ $(((problems % 2) * (problems % 3) * (problems % 5))) != 0 ]
check 'each problem has digests, and no other one has the same' \
    [ "$(sort -u "$work/digests" | grep -c .)" = "$(grep -c . "$work/bases")" ]

# "mb8ic37,global,r2 order=3 ...", one change after the other, for each makes a group. Digests come in the order
# of the problems, whose words need not.
awk '
    FNR == NR { digests[FNR] = $0; next }
    /^$/ { problems = 0 }
    /^mb/ { problem[++problems] = $1; own[problems] = digests[++all] }
    /^\|/ { for (i = 1; i <= problems; ++i) print $1 problem[i] "," $2 own[i] }
' "$work/digests" "$srcdir/tests/pass/same" > "$work/pairs"
check 'each pair has digests' eval '! grep -qv " order=" "$work/pairs"'
sed 's/^|*//' "$work/pairs" > "$work/all"
sed -n 's/^||//p' "$work/pairs" > "$work/others"
run_on_devices

# Devices without doubles combine, too: floats, for each type is compiled.
grep -E '^mb8ic(19ih7iw7|23ih7iw7|130),(global|data).*,(r3|r1,ooo,last) ' "$work/all" > "$work/problems"
"$SYNCBN" check --tap --devices "$first" --build-options "-D NO_DOUBLES ${UNOPTIMISED-}" --file "$work/problems" \
    > "$work/tap"
renumber 'without doubles' "$work/tap" $?

# What does change them is seen.
sed -n '1s/,r2 /,eps=1 /p' "$work/all" > "$work/changed"
"$SYNCBN" check --devices "$first" --file "$work/changed" > "$work/out" 2> "$work/err"
check 'another eps has other bits' grep -q 'other bits than recorded: [vy]' "$work/out"
echo "1..$count"
