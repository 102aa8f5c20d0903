#!/bin/sh
# What threaded groups promise, with ranks for threads: the same bits, the same
# sentences when ranks disagree, parts of a split, several layers in one call, hundreds
# of random passes; thread levels, and ranks without any device. Seven ranks in one hub where CHECK=full is set.

. "${srcdir:=.}/tests/mpi/common.sh"

tap 3 tests/mpi/arguments
# Under valgrind each rank takes a quarter of a minute.
without_device=4
[ "${SBN_TEST_UNDER-}" != valgrind ] || without_device=2
tap $without_device tests/mpi/no_device
tap 4 tests/mpi/group_split
# Under valgrind each rank would compile for minutes.
if [ "${SBN_TEST_UNDER-}" != valgrind ]; then
    tap 2 tests/mpi/threads serialized
    tap 3 tests/mpi/threads multiple
    tap 4 tests/mpi/hub
    [ "${CHECK-}" != full ] || tap 7 tests/mpi/hub
    tap 4 tests/mpi/branches
    tap 4 tests/mpi/branches_refused
    tap 3 tests/mpi/one_request
    tap 4 tests/mpi/soak 300
fi
echo "1..$count"
