# What the tests share. The linker takes from an archive what a program asks for.
check_LIBRARIES = tests/support/libsupport.a tests/support/libthreads.a
tests_support_libsupport_a_SOURCES = tests/support/address_space.c tests/support/address_space.h \
	tests/support/branch_set.c tests/support/branch_set.h tests/support/exchanges.c tests/support/exchanges.h \
	tests/support/file_network.c tests/support/file_network.h tests/support/fixture.c tests/support/fixture.h \
	tests/support/folder.c tests/support/folder.h tests/support/main.c tests/support/main.h tests/support/network.c \
	tests/support/network.h tests/support/random.h tests/support/ranks.c tests/support/ranks.h \
	tests/support/refused.c tests/support/refused.h tests/support/refused_ranks.c tests/support/refused_ranks.h \
	tests/support/slice.c tests/support/slice.h tests/support/stage.c tests/support/stage.h \
	tests/support/stalls.c tests/support/stalls.h tests/support/tap.c tests/support/tap.h tests/support/trial.c \
	tests/support/trial.h tests/support/vectors.c tests/support/vectors.h tests/support/wraps.c \
	tests/support/wraps.h tests/support/wraps_count.c tests/support/wraps_programs.c

# Ranks as threads, and the hub between them.
tests_support_libthreads_a_SOURCES = tests/support/ranks_threads.c

# What a program links that names nothing else: all programs outside tests/ do.
LDADD = tests/support/libsupport.a tests/support/libthreads.a libsyncbn_check.la libsyncbn_core.la $(OPENCL_LIBS)

# Calls into OpenCL that are counted, fail or lie: tests/support/wraps.c stands between, where LDFLAGS are these.
wrap = -Wl,--wrap=
# The library that calls them comes behind the archive that has them.
program_wraps = -Wl,--undefined=__wrap_clBuildProgram $(addprefix $(wrap), clBuildProgram clCreateKernel \
	clCreateProgramWithBinary clCreateProgramWithSource)
wraps = $(program_wraps) $(addprefix $(wrap), clCreateBuffer clCreateCommandQueue clEnqueueFillBuffer \
	clEnqueueMapBuffer clEnqueueMarkerWithWaitList clEnqueueNDRangeKernel clEnqueueReadBuffer \
	clEnqueueWriteBuffer clFlush clGetDeviceInfo clGetEventInfo clRetainEvent clSetKernelArg sbn__allocate)

# What else the library asks, waits for and releases; the system's calls that write files, and those
# that open and read them; those into MPI; the C library's allocator. A program that links them has the file of the same name in its sources.
query_wraps = $(addprefix $(wrap), clCreateContext clCreateKernelsInProgram clEnqueueUnmapMemObject clFinish \
	clGetCommandQueueInfo clGetDeviceIDs clGetKernelWorkGroupInfo clGetMemObjectInfo clGetPlatformIDs \
	clGetPlatformInfo clGetProgramBuildInfo clGetProgramInfo clReleaseCommandQueue clReleaseEvent \
	clReleaseKernel clReleaseMemObject clReleaseProgram clRetainCommandQueue clRetainMemObject clWaitForEvents \
	sbn__free)
system_wraps = $(addprefix $(wrap), close fchmod fchown fremovexattr fsync openat renameat unlinkat write)
file_wraps = $(addprefix $(wrap), fstat fstatat lstat mkdir open pread read realpath)

mpi_wraps = $(addprefix $(wrap), MPI_Allreduce MPI_Comm_create_group MPI_Comm_dup MPI_Comm_free MPI_Comm_group \
	MPI_Comm_set_errhandler MPI_Comm_rank MPI_Comm_size MPI_Comm_test_inter MPI_Group_free MPI_Group_incl \
	MPI_Iallreduce MPI_Iprobe MPI_Is_thread_main MPI_Isend MPI_Recv MPI_Test)
memory_wraps = $(addprefix $(wrap), calloc free malloc)

# Ranks as the processes of an MPI job; no thread can take their place unnoticed.
if HAVE_MPI
check_LIBRARIES += tests/support/libmpi.a
endif
tests_support_libmpi_a_SOURCES = tests/support/ranks_mpi.c tests/support/tap_mpi.c tests/support/tap_mpi.h
mpi_cppflags = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tests_support_libmpi_a_CPPFLAGS = $(mpi_cppflags)
on_mpi = tests/support/libsupport.a tests/support/libmpi.a libsyncbn_check.la libsyncbn_mpi_core.la \
	libsyncbn_core.la $(OPENCL_LIBS)

# For scripts, and for the tools that watch.
EXTRA_DIST += tests/support/command.sh tests/support/on_devices.sh tests/support/tap.sh \
	tests/support/drivers.lsan tests/support/drivers.supp tests/support/drivers.tsan
