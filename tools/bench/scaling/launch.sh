# How jobs over MPI are launched; sourced, not run. One thread for each rank's
# PoCL device, so that many ranks fit a small machine; no warnings of UCX's about
# what a rank has left when the job is ended; no plugins of hwloc's, which MPI loads,
# which leak where no suppression can name them, and which open OpenCL before
# tests/mpi/no_device hides the drivers.
# Environment: srcdir, MPIEXEC, MPI_KIND (mpich or openmpi), SBN_TEST_TOOL (runs each
# rank, or empty). Runs in the build directory.

: "${srcdir:=.}" "${MPIEXEC:=mpiexec}" "${MPI_KIND:=mpich}"
export POCL_MAX_PTHREAD_COUNT=1 UCX_LOG_LEVEL="${UCX_LOG_LEVEL:-error}" HWLOC_PLUGINS_PATH=/none
# LeakSanitizer's tracer crashes at times ("caught signal 11") where threads of MPI and of the
# driver end: leaks over MPI are valgrind's to find.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# More ranks than cores, and as root, are what Open MPI wants to be asked for.
mpi_flags=
if [ "$MPI_KIND" = openmpi ]; then
    mpi_flags='--oversubscribe --mca btl_base_warn_component_unused 0'
    [ "$(id -u)" -ne 0 ] || mpi_flags="$mpi_flags --allow-run-as-root"
fi

# Seconds after which a job is a hanging one; most take a few.
mpi_limit=${SBN_TEST_LIMIT:-250}

# mpi N PROGRAM ARGUMENTS...: an N-rank job.
mpi() {
    mpi_ranks=$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 $mpi_limit "$MPIEXEC" $mpi_flags -n "$mpi_ranks" ${SBN_TEST_TOOL-} "$@" < /dev/null
}
