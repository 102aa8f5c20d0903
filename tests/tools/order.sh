#!/bin/sh
# In which order make -jN check runs test programs: the longest first, and the timed ones at the end,
# one by one. Runs in the build directory. Environment: srcdir.
. "${srcdir:=.}/tests/support/tap.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS

# read_rules LOG...: make's rules when these are run.
read_rules() {
    make -rpn nothing-of-that-name TEST_LOGS="$*" > "$work/rules" 2> /dev/null < /dev/null
}

# waits_for LOG LOG: whether the first one's test starts when the second's has ended.
waits_for() {
    sed -n "s,^$1:,,p" "$work/rules" | grep -qF " $2"
}

words=tests/exact/accumulator.log timeline=tests/tools/timeline.log
# A timed test that is there with MPI only, if it is.
groups=$(make -rpn nothing-of-that-name 2> /dev/null < /dev/null | grep -o 'tests/mpi/groups.sh' |
    sed 's/sh$/log/;q')
read_rules $words $timeline $groups
check 'a timed test waits for the others' waits_for $timeline $words
[ -z "$groups" ] || check 'timed tests run one by one' \
    eval 'waits_for $groups $timeline || waits_for $timeline $groups'
check 'the others wait for none' eval '! waits_for $words $timeline'
read_rules $timeline
check 'a test that is not run is not waited for' eval '! waits_for $timeline $words'
check 'the longest test is the first' [ "$(sed -n 's/^TESTS = //p' Makefile | sed 's/ .*//;q')" = \
    'tests/pass/bits$(EXEEXT)' ]

# A test that was renamed would run beside the others.
for test in $(sed -n 's/^TIMED_TESTS = //p' "$work/rules"); do
    case $test in
        *'('*) ;;
        *)
            sources=$(echo "$test" | tr / _)_SOURCES
            check "$test is a test" eval '[ -e "$srcdir/$test" ] || [ -e "$srcdir/$test.c" ] ||
                grep -q "^$sources = " Makefile'
            ;;
    esac
done
echo "1..$count"
