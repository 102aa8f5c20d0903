#!/bin/sh
# Calls into MPI fail, one after the other (tests/faults/mpi.c): on two ranks, whose parts of a split
# are alike, so that both make the same calls.

. "${srcdir:=.}/tests/mpi/common.sh"
tap 2 tests/faults/faults_mpi
echo "1..$count"
