#!/bin/sh
# The same bits for every number of processes: tests/python/bits.py. Environment: srcdir,
# PYTORCH_PYTHON, MPIEXEC, MPI_KIND.

. "${srcdir:=.}/tests/python/common.sh"
. "$srcdir/tools/bench/scaling/launch.sh"
be_patient
[ -e .libs/libsyncbn-mpi.so.0 ] || MPIEXEC=
# shellcheck disable=SC2086
with_pytorch bits.py "$work" $MPIEXEC ${MPIEXEC:+$mpi_flags}
