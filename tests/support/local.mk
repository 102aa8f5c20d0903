# What the tests share. The linker takes from an archive what a program asks for.
check_LIBRARIES = tests/support/libsupport.a tests/support/libthreads.a
tests_support_libsupport_a_SOURCES = \
	tests/support/address_space.c \
	tests/support/address_space.h \
	tests/support/branch_set.c \
	tests/support/branch_set.h \
	tests/support/exchanges.c \
	tests/support/exchanges.h \
	tests/support/fixture.c \
	tests/support/fixture.h \
	tests/support/fixture_main.c \
	tests/support/folder.c \
	tests/support/folder.h \
	tests/support/must.c \
	tests/support/must.h \
	tests/support/network.c \
	tests/support/network.h \
	tests/support/ranks.c \
	tests/support/ranks.h \
	tests/support/refused.c \
	tests/support/refused.h \
	tests/support/refused_ranks.c \
	tests/support/refused_ranks.h \
	tests/support/sample.c \
	tests/support/sample.h \
	tests/support/slice.c \
	tests/support/slice.h \
	tests/support/stage.c \
	tests/support/stage.h \
	tests/support/stalls.c \
	tests/support/stalls.h \
	tests/support/tap.c \
	tests/support/tap.h \
	tests/support/trial.c \
	tests/support/trial.h \
	tests/support/vectors.c \
	tests/support/vectors.h \
	tests/support/file_network.c \
	tests/support/file_network.h \
	tests/support/wraps.c \
	tests/support/wraps.h \
	tests/support/wraps_count.c \
	tests/support/wraps_programs.c

# Ranks as threads, and the hub between them. A program with a transport of its own takes the
# threads alone.
tests_support_libthreads_a_SOURCES = \
	tests/support/ranks_threads.c \
	tests/support/transport_hub.c

# What a program links that names nothing else: all programs outside tests/ do.
LDADD = tests/support/libsupport.a tests/support/libthreads.a libsyncbn_check.la \
	libsyncbn_core.la $(OPENCL_LIBS)

# Calls into OpenCL that are counted, fail or lie: tests/support/wraps.c stands between, in
# programs whose LDFLAGS are these.
wrap = -Wl,--wrap=
# The library that calls them comes behind the archive that has them.
program_wraps = -Wl,--undefined=__wrap_clBuildProgram \
	$(wrap)clBuildProgram \
	$(wrap)clCreateKernel \
	$(wrap)clCreateProgramWithBinary \
	$(wrap)clCreateProgramWithSource
wraps = $(program_wraps) \
	$(wrap)clCreateBuffer \
	$(wrap)clCreateCommandQueue \
	$(wrap)clEnqueueFillBuffer \
	$(wrap)clEnqueueMapBuffer \
	$(wrap)clEnqueueMarkerWithWaitList \
	$(wrap)clEnqueueNDRangeKernel \
	$(wrap)clEnqueueReadBuffer \
	$(wrap)clEnqueueWriteBuffer \
	$(wrap)clFlush \
	$(wrap)clGetDeviceInfo \
	$(wrap)clGetEventInfo \
	$(wrap)clRetainEvent \
	$(wrap)clSetKernelArg \
	$(wrap)sbn__allocate

# What else the library asks, waits for and releases; the system's calls that write files, and those
# that open and read them; those into MPI; the C library's allocator. A program that links them has the file of the same name in its sources.
query_wraps = \
	$(wrap)clCreateContext \
	$(wrap)clCreateKernelsInProgram \
	$(wrap)clEnqueueUnmapMemObject \
	$(wrap)clFinish \
	$(wrap)clGetCommandQueueInfo \
	$(wrap)clGetDeviceIDs \
	$(wrap)clGetKernelWorkGroupInfo \
	$(wrap)clGetMemObjectInfo \
	$(wrap)clGetPlatformIDs \
	$(wrap)clGetPlatformInfo \
	$(wrap)clGetProgramBuildInfo \
	$(wrap)clGetProgramInfo \
	$(wrap)clReleaseCommandQueue \
	$(wrap)clReleaseEvent \
	$(wrap)clReleaseKernel \
	$(wrap)clReleaseMemObject \
	$(wrap)clReleaseProgram \
	$(wrap)clRetainCommandQueue \
	$(wrap)clRetainMemObject \
	$(wrap)clWaitForEvents \
	$(wrap)sbn__free
system_wraps = \
	$(wrap)close \
	$(wrap)fchmod \
	$(wrap)fchown \
	$(wrap)fsync \
	$(wrap)openat \
	$(wrap)renameat \
	$(wrap)unlinkat \
	$(wrap)write
file_wraps = \
	$(wrap)fstat \
	$(wrap)fstatat \
	$(wrap)lstat \
	$(wrap)mkdir \
	$(wrap)open \
	$(wrap)pread \
	$(wrap)read \
	$(wrap)realpath

mpi_wraps = \
	$(wrap)MPI_Allreduce \
	$(wrap)MPI_Comm_create_group \
	$(wrap)MPI_Comm_dup \
	$(wrap)MPI_Comm_free \
	$(wrap)MPI_Comm_group \
	$(wrap)MPI_Comm_set_errhandler \
	$(wrap)MPI_Comm_rank \
	$(wrap)MPI_Comm_size \
	$(wrap)MPI_Comm_test_inter \
	$(wrap)MPI_Group_incl \
	$(wrap)MPI_Iallreduce \
	$(wrap)MPI_Iprobe \
	$(wrap)MPI_Is_thread_main \
	$(wrap)MPI_Isend \
	$(wrap)MPI_Recv \
	$(wrap)MPI_Test
memory_wraps = \
	$(wrap)calloc \
	$(wrap)free \
	$(wrap)malloc

# Ranks as the processes of an MPI job; no thread can take their place unnoticed.
if HAVE_MPI
check_LIBRARIES += tests/support/libmpi.a
endif
tests_support_libmpi_a_SOURCES = \
	tests/support/mpi_job.c \
	tests/support/mpi_job.h \
	tests/support/ranks_mpi.c \
	tests/support/tap_mpi.c \
	tests/support/tap_mpi.h
mpi_cppflags = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tests_support_libmpi_a_CPPFLAGS = $(mpi_cppflags)
on_mpi = tests/support/libsupport.a tests/support/libmpi.a libsyncbn_check.la \
	libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)

# For scripts.
EXTRA_DIST += tests/support/command.sh tests/support/on_devices.sh tests/support/tap.sh

EXTRA_DIST += tests/support/drivers.lsan tests/support/drivers.supp tests/support/drivers.tsan
