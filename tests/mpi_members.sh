#!/bin/sh
# What threaded groups promise, with ranks for threads: the same bits, the same
# sentences when ranks disagree, parts of a split, several layers in one call, hundreds
# of random passes, and what latency costs (printed).

. "${srcdir:=.}/tests/mpi_common.sh"

tap 2 tests/mpi_arguments
tap 4 tests/mpi_split
if [ "${SBN_TEST_UNDER-}" != valgrind ]; then
    tap 4 tests/mpi_hub
    tap 7 tests/mpi_hub
    tap 4 tests/mpi_branches
    tap 3 tests/mpi_branches_disagree
    tap 4 tests/mpi_branches_refused
    tap 4 tests/mpi_soak 300
    tap 2 tests/mpi_latency
fi
echo "1..$count"
