#!/bin/sh
# The lists of problems in tests/inputs over 1, 2, 3, 4 and 7 ranks: the bits of one
# process, within the tolerances. Half of them on 2 ranks and the other half on 3, every so many-th on
# others; a twelfth of the problems on 2 ranks and fewer on others unless CHECK=full is set.

. "${srcdir:=.}/tests/mpi/common.sh"
be_patient

if [ "${SBN_TEST_UNDER-}" = asan ]; then
    # For the host's code; new kernels for each problem are what takes long.
    tap 2 tests/mpi/problems / 24 "$srcdir"/tests/inputs/*
elif [ "${CHECK-}" != full ]; then
    tap 1 tests/mpi/problems / 41 "$srcdir"/tests/inputs/*
    tap 2 tests/mpi/problems / 12 "$srcdir"/tests/inputs/*
    tap 3 tests/mpi/problems / 24 "$srcdir"/tests/inputs/*
    tap 4 tests/mpi/problems / 41 "$srcdir"/tests/inputs/*
    tap 7 tests/mpi/problems / 59 "$srcdir"/tests/inputs/*
else
    tap 1 tests/mpi/problems / 16 "$srcdir"/tests/inputs/*
    # A job for each list: a job has a deadline.
    for list in "$srcdir"/tests/inputs/*; do
        tap 2 tests/mpi/problems / 2 "$list"
        tap 3 tests/mpi/problems / 2+1 "$list"
    done
    tap 4 tests/mpi/problems / 10 "$srcdir"/tests/inputs/*
    tap 7 tests/mpi/problems / 24 "$srcdir"/tests/inputs/*
fi
echo "1..$count"
