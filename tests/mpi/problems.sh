#!/bin/sh
# The lists of problems in tests/inputs over 1, 2, 3, 4 and 7 ranks: the bits of one
# process, within the tolerances. All of them on 2 ranks, every so many-th on others; a fifth of
# that unless CHECK=full is set.

. "${srcdir:=.}/tests/mpi/common.sh"

if [ "${SBN_TEST_UNDER-}" = asan ]; then
    # For the host's code; new kernels for each problem are what takes long.
    tap 2 tests/mpi/problems / 24 "$srcdir"/tests/inputs/*
elif [ "${CHECK-}" != full ]; then
    tap 1 tests/mpi/problems / 41 "$srcdir"/tests/inputs/*
    tap 2 tests/mpi/problems / 5 "$srcdir"/tests/inputs/*
    tap 3 tests/mpi/problems / 16 "$srcdir"/tests/inputs/*
    tap 4 tests/mpi/problems / 27 "$srcdir"/tests/inputs/*
    tap 7 tests/mpi/problems / 59 "$srcdir"/tests/inputs/*
else
    tap 1 tests/mpi/problems / 8 "$srcdir"/tests/inputs/*
    # A job for each list: a job has a deadline.
    for list in "$srcdir"/tests/inputs/*; do
        tap 2 tests/mpi/problems "$list"
    done
    tap 3 tests/mpi/problems / 3 "$srcdir"/tests/inputs/*
    tap 4 tests/mpi/problems / 5 "$srcdir"/tests/inputs/*
    tap 7 tests/mpi/problems / 24 "$srcdir"/tests/inputs/*
fi
echo "1..$count"
