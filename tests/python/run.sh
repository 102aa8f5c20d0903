#!/bin/sh
# What runs the tests of the Python package, from the source and over the library just built: run.sh PROGRAM.
# A program gets a folder for files, and in MPI_LAUNCH the command that launches jobs, up to "-n", if there is MPI.
# Environment: srcdir, PYTHON, PYTORCH_PYTHON, MPIEXEC, MPI_KIND. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
# One thread for each rank's device.
. "$srcdir/tools/bench/scaling/launch.sh"
shared=$(sed -n "s/^dlname='\(.*\)'/\1/p" libsyncbn.la)
[ -n "$shared" ] || skip_all 'configured without a shared library'
SYNCBN_LIBRARY=$PWD/.libs/$shared
PYTHONPATH=$(cd "$srcdir/python" && pwd)${PYTHONPATH:+:$PYTHONPATH}
# libsyncbn-mpi loads libsyncbn.
LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SYNCBN_LIBRARY PYTHONPATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1
if [ -e .libs/libsyncbn-mpi.so.0 ]; then
    export SYNCBN_MPI_LIBRARY="$PWD/.libs/libsyncbn-mpi.so.0"
else
    MPIEXEC=
fi

# needs MODULE WHY: the program is skipped where Python cannot import the module.
python=${PYTORCH_PYTHON-}
needs() {
    [ -z "$python" ] || "$python" -c "import $1" > "$work/out" 2>&1 || skip_all "$2"
}
case ${1##*/} in
bits.py) be_patient ;;
layout.py)
    python=${PYTHON:=python3}
    needs ctypes "$PYTHON is not installed, or has no ctypes" ;;
backend.py | compiled.py | upstream.py)
    needs 'torch; assert torch.__version__ >= "2.6"' 'this PyTorch is older than 2.6: make check-pytorch installs the newest' ;;
communicators.py)
    [ -n "$MPIEXEC" ] || skip_all 'configured without MPI'
    needs mpi4py "$python has no mpi4py"
    # Wheels of mpi4py ask for MPICH by the name of its ABI, which Debian's lacks.
    mpich=$(ldd .libs/libsyncbn-mpi.so.0 | sed -n 's/.* => \(.*libmpich\.so\.12\) .*/\1/p')
    [ -z "$mpich" ] || ln -s "$mpich" "$work/libmpi.so.12"
    [ -z "$mpich" ] || export MPI4PY_MPIABI=mpich LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$work" ;;
esac
[ -n "$python" ] || skip_all 'configure found no Python that has PyTorch (python3-torch)'
MPI_LAUNCH="$MPIEXEC ${MPIEXEC:+$mpi_flags}" "$python" -W ignore "$1" "$work" < /dev/null
