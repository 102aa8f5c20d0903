# What the tests of the Python package share; sourced, not run. Environment: srcdir, PYTHON,
# PYTORCH_PYTHON. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
shared=$(sed -n "s/^dlname='\(.*\)'/\1/p" libsyncbn.la)
[ -n "$shared" ] || skip_all 'configured without a shared library'
SYNCBN_LIBRARY=$PWD/.libs/$shared
[ ! -e .libs/libsyncbn-mpi.so.0 ] || export SYNCBN_MPI_LIBRARY="$PWD/.libs/libsyncbn-mpi.so.0"
PYTHONPATH=$(cd "$srcdir/python" && pwd)${PYTHONPATH:+:$PYTHONPATH}
# libsyncbn-mpi loads libsyncbn. One thread for each rank's device.
LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SYNCBN_LIBRARY PYTHONPATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1 POCL_MAX_PTHREAD_COUNT=1

# with_pytorch PROGRAM ARGUMENTS...: a program of this folder, in the place of the script.
with_pytorch() {
    [ -n "${PYTORCH_PYTHON-}" ] || skip_all 'configure found no Python that has PyTorch (python3-torch)'
    "$PYTORCH_PYTHON" -W ignore "$srcdir/tests/python/$@" < /dev/null
}

# with_newest_pytorch PROGRAM ARGUMENTS...: the same, where PyTorch has what make check-pytorch tests.
with_newest_pytorch() {
    [ -z "${PYTORCH_PYTHON-}" ] || "$PYTORCH_PYTHON" -c 'import torch; torch.library.custom_op' 2> "$work/error" ||
        skip_all 'this PyTorch is older than 2.4: make check-pytorch installs the newest'
    with_pytorch "$@"
}
