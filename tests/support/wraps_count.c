/* Which call fails, and what is held: for all files of wrapped functions. */
#include <stdatomic.h>

#include "support/wraps.h"

const char *const wraps_names[WRAPS] = {
    "sbn__allocate",
    "clCreateProgramWithSource",
    "clBuildProgram",
    "clCreateKernel",
    "clCreateBuffer",
    "clSetKernelArg",
    "clEnqueueNDRangeKernel",
    "clEnqueueReadBuffer",
    "clEnqueueWriteBuffer",
    "clEnqueueFillBuffer",
    "clEnqueueMarkerWithWaitList",
    "clFlush",
    "clGetEventInfo",
    "clCreateProgramWithBinary",
    "clCreateCommandQueue",
    "clEnqueueMapBuffer",
    "clRetainEvent",
    "clGetDeviceInfo",
    "clGetPlatformInfo",
    "clGetPlatformIDs",
    "clGetDeviceIDs",
    "clCreateContext",
    "clGetCommandQueueInfo",
    "clGetMemObjectInfo",
    "clGetProgramInfo",
    "clGetProgramBuildInfo",
    "clGetKernelWorkGroupInfo",
    "clCreateKernelsInProgram",
    "clEnqueueUnmapMemObject",
    "clWaitForEvents",
    "clFinish",
    "clRetainCommandQueue",
    "clRetainMemObject",
    "clReleaseCommandQueue",
    "clReleaseMemObject",
    "clReleaseEvent",
    "clReleaseKernel",
    "clReleaseProgram",
    "openat",
    "write",
    "fchown",
    "fchmod",
    "fsync",
    "close",
    "renameat",
    "unlinkat",
    "open",
    "read",
    "pread",
    "fstat",
    "fstatat",
    "lstat",
    "mkdir",
    "realpath",
    "malloc",
    "calloc",
    "MPI_Allreduce",
    "MPI_Comm_create_group",
    "MPI_Comm_dup",
    "MPI_Comm_group",
    "MPI_Comm_set_errhandler",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Comm_test_inter",
    "MPI_Group_incl",
    "MPI_Iallreduce",
    "MPI_Iprobe",
    "MPI_Isend",
    "MPI_Recv",
    "MPI_Test",
    "MPI_Is_thread_main",
    "malloc, calloc or realloc",
};

static atomic_long calls[WRAPS], held[WRAPS_KINDS];
static _Thread_local long own_calls;
static _Thread_local int wanted, countdown, failed = -1;
static _Thread_local int again, failed_again = -1, paused;

long wraps_calls(int function)
{
    return atomic_load(&calls[function]);
}

long wraps_own_calls(void)
{
    return own_calls;
}

long wraps_held(int kind)
{
    return atomic_load(&held[kind]);
}

void wraps_hold(int kind, long more)
{
    atomic_fetch_add(&held[kind], more);
}

void wraps_fail(int function, int n)
{
    wanted = function;
    countdown = n;
    own_calls = 0;
    again = 0;
    failed = failed_again = -1;
}

void wraps_fail_again(int n)
{
    again = n;
}

int wraps_failed(void)
{
    return failed;
}

int wraps_failed_again(void)
{
    return failed_again;
}

void wraps_pause(void)
{
    ++paused;
}

void wraps_resume(void)
{
    --paused;
}

static int is_wanted(int function)
{
    return (wanted == WRAP_EVERY && function != WRAP_C_MEMORY) ||
           (wanted == WRAP_ANY && function <= WRAP_RETAIN_EVENT) ||
           (wanted == WRAP_SYMMETRIC && function >= WRAP_MALLOC &&
            function <= WRAP_MPI_IALLREDUCE) ||
           wanted == function;
}

/* After the first failure. */
static int fails_again(int function)
{
    if (again == 0 || (again > 0 && --again > 0))
        return 0;
    failed_again = function;
    return 1;
}

int wraps_fails(int function)
{
    if (paused)
        return 0;
    atomic_fetch_add(&calls[function], 1);
    if (!is_wanted(function))
        return 0;
    ++own_calls;
    if (countdown == 0)
        return failed >= 0 && fails_again(function);
    if (--countdown > 0)
        return 0;
    failed = function;
    return 1;
}
