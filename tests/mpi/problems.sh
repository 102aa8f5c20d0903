#!/bin/sh
# The lists of problems in tests/inputs over 1, 2, 3, 4 and 7 ranks: the bits of one
# process, within the tolerances. Half of them on 2 ranks and the other half on 3, every so many-th on
# others; a twelfth of the problems on 2 ranks and fewer on others unless CHECK=full is set.

. "${srcdir:=.}/tests/mpi/common.sh"
be_patient

if [ "${SBN_TEST_UNDER-}" = asan ]; then
    # For the host's code; new kernels for each problem are what takes long.
    problems 2 24 0 "$srcdir"/tests/inputs/*
elif [ "${CHECK-}" != full ]; then
    for sample in '1 41' '2 12' '3 24' '4 41' '7 59'; do
        problems $sample 0 "$srcdir"/tests/inputs/*
    done
else
    problems 1 16 0 "$srcdir"/tests/inputs/*
    # A job for each list: a job has a deadline.
    for list in "$srcdir"/tests/inputs/*; do
        problems 2 2 0 "$list"
        problems 3 2 1 "$list"
    done
    problems 4 10 0 "$srcdir"/tests/inputs/*
    problems 7 24 0 "$srcdir"/tests/inputs/*
fi
echo "1..$count"
