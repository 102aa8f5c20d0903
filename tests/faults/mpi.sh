#!/bin/sh
# Calls into MPI fail, one after the other (tests/faults/mpi.c).

. "${srcdir:=.}/tests/mpi/common.sh"
tap 3 tests/faults/faults_mpi
echo "1..$count"
