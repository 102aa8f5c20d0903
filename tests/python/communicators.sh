#!/bin/sh
# Communicators of mpi4py: tests/python/communicators.py. Environment: srcdir, PYTORCH_PYTHON,
# MPIEXEC, MPI_KIND.

. "${srcdir:=.}/tests/python/common.sh"
. "$srcdir/tools/bench/scaling/launch.sh"
[ -e .libs/libsyncbn-mpi.so.0 ] || skip_all 'configured without MPI'
[ -n "${PYTORCH_PYTHON-}" ] || skip_all 'configure found no Python that has PyTorch (python3-torch)'
"$PYTORCH_PYTHON" -c 'import mpi4py' 2> "$work/error" ||
    skip_all "$PYTORCH_PYTHON has no mpi4py"
# Wheels of mpi4py ask for MPICH by the name of its ABI, which Debian's lacks.
mpich=$(ldd .libs/libsyncbn-mpi.so.0 | sed -n 's/.* => \(.*libmpich\.so\.12\) .*/\1/p')
if [ -n "$mpich" ]; then
    ln -s "$mpich" "$work/libmpi.so.12"
    export MPI4PY_MPIABI=mpich LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$work"
fi
# shellcheck disable=SC2086
with_pytorch communicators.py $MPIEXEC $mpi_flags
