/*
 * The functions that the library calls of others, and its own allocator: counted, and made to fail or to lie on
 * request; a launch of nothing fails, as before OpenCL 2.1. A program that links this gives the linker $(wraps), one
 * --wrap for each function; one that wants more of them $(query_wraps), $(system_wraps), $(file_wraps),
 * $(memory_wraps) or $(mpi_wraps), too (tests/support/local.mk).
 */
#pragma once

#include <stdatomic.h>

#include <syncbn.h>

#include "program/opencl.h"

/*
 * Each function's number and name. Those up to WRAP_RETAIN_EVENT are of WRAP_ANY; from WRAP_MALLOC to
 * WRAP_MPI_IALLREDUCE all ranks of a job make the calls as often and in the same order.
 */
#define WRAPPED(X) \
    X(WRAP_ALLOCATE, "sbn__allocate") \
    X(WRAP_CREATE_PROGRAM, "clCreateProgramWithSource") \
    X(WRAP_BUILD, "clBuildProgram") \
    X(WRAP_CREATE_KERNEL, "clCreateKernel") \
    X(WRAP_CREATE_BUFFER, "clCreateBuffer") \
    X(WRAP_SET_ARG, "clSetKernelArg") \
    X(WRAP_LAUNCH, "clEnqueueNDRangeKernel") \
    X(WRAP_READ, "clEnqueueReadBuffer") \
    X(WRAP_WRITE, "clEnqueueWriteBuffer") \
    X(WRAP_FILL, "clEnqueueFillBuffer") \
    X(WRAP_MARKER, "clEnqueueMarkerWithWaitList") \
    X(WRAP_FLUSH, "clFlush") \
    X(WRAP_EVENT_INFO, "clGetEventInfo") \
    X(WRAP_CREATE_BINARY, "clCreateProgramWithBinary") \
    X(WRAP_CREATE_QUEUE, "clCreateCommandQueue") \
    X(WRAP_MAP, "clEnqueueMapBuffer") \
    X(WRAP_RETAIN_EVENT, "clRetainEvent") \
    X(WRAP_DEVICE_INFO, "clGetDeviceInfo") \
    X(WRAP_PLATFORM_INFO, "clGetPlatformInfo") \
    X(WRAP_PLATFORM_IDS, "clGetPlatformIDs") \
    X(WRAP_DEVICE_IDS, "clGetDeviceIDs") \
    X(WRAP_CREATE_CONTEXT, "clCreateContext") \
    X(WRAP_QUEUE_INFO, "clGetCommandQueueInfo") \
    X(WRAP_BUFFER_INFO, "clGetMemObjectInfo") \
    X(WRAP_PROGRAM_INFO, "clGetProgramInfo") \
    X(WRAP_BUILD_INFO, "clGetProgramBuildInfo") \
    X(WRAP_GROUP_INFO, "clGetKernelWorkGroupInfo") \
    X(WRAP_CREATE_KERNELS, "clCreateKernelsInProgram") \
    X(WRAP_UNMAP, "clEnqueueUnmapMemObject") \
    X(WRAP_WAIT, "clWaitForEvents") \
    X(WRAP_FINISH, "clFinish") \
    X(WRAP_RETAIN_QUEUE, "clRetainCommandQueue") \
    X(WRAP_RETAIN_BUFFER, "clRetainMemObject") \
    X(WRAP_RELEASE_QUEUE, "clReleaseCommandQueue") \
    X(WRAP_RELEASE_BUFFER, "clReleaseMemObject") \
    X(WRAP_RELEASE_EVENT, "clReleaseEvent") \
    X(WRAP_RELEASE_KERNEL, "clReleaseKernel") \
    X(WRAP_RELEASE_PROGRAM, "clReleaseProgram") \
    X(WRAP_OPENAT, "openat") \
    X(WRAP_WRITE_FILE, "write") \
    X(WRAP_CHOWN, "fchown") \
    X(WRAP_CHMOD, "fchmod") \
    X(WRAP_REMOVE_LIST, "fremovexattr") \
    X(WRAP_SYNC, "fsync") \
    X(WRAP_CLOSE, "close") \
    X(WRAP_RENAME, "renameat") \
    X(WRAP_UNLINK, "unlinkat") \
    X(WRAP_OPEN, "open") \
    X(WRAP_READ_FILE, "read") \
    X(WRAP_PREAD, "pread") \
    X(WRAP_STAT, "fstat") \
    X(WRAP_STAT_AT, "fstatat") \
    X(WRAP_STAT_LINK, "lstat") \
    X(WRAP_MKDIR, "mkdir") \
    X(WRAP_REAL_PATH, "realpath") \
    X(WRAP_MALLOC, "malloc") \
    X(WRAP_CALLOC, "calloc") \
    X(WRAP_MPI_ALLREDUCE, "MPI_Allreduce") \
    X(WRAP_MPI_CREATE_GROUP, "MPI_Comm_create_group") \
    X(WRAP_MPI_DUP, "MPI_Comm_dup") \
    X(WRAP_MPI_COMM_GROUP, "MPI_Comm_group") \
    X(WRAP_MPI_ERRHANDLER, "MPI_Comm_set_errhandler") \
    X(WRAP_MPI_RANK, "MPI_Comm_rank") \
    X(WRAP_MPI_SIZE, "MPI_Comm_size") \
    X(WRAP_MPI_TEST_INTER, "MPI_Comm_test_inter") \
    X(WRAP_MPI_INCL, "MPI_Group_incl") \
    X(WRAP_MPI_IALLREDUCE, "MPI_Iallreduce") \
    X(WRAP_MPI_IPROBE, "MPI_Iprobe") \
    X(WRAP_MPI_ISEND, "MPI_Isend") \
    X(WRAP_MPI_RECV, "MPI_Recv") \
    X(WRAP_MPI_TEST, "MPI_Test") \
    X(WRAP_MPI_MAIN, "MPI_Is_thread_main")

#define WRAPS_NUMBER(number, name) number,
enum {
    WRAPPED(WRAPS_NUMBER) WRAPS,
    WRAP_ANY = WRAPS, /* one of $(wraps), whose failures are all reported */
    WRAP_SYMMETRIC,   /* one of those that all ranks of a job call alike */
    WRAP_EVERY
};
#undef WRAPS_NUMBER

/*
 * For a function that is wrapped: __real_f is f, and every f of the library is __wrap_f. Prototypes
 * keep the compiler content.
 */
#define WRAP(result, f, parameters) \
    result __real_##f parameters; \
    result __wrap_##f parameters; \
    result __wrap_##f parameters

/* One that is called unless it is to fail, and returns `error` then. */
#define WRAP_CALL(result, f, function, error, parameters, arguments) \
    WRAP(result, f, parameters) \
    { \
        return wraps_fails(function) ? (error) : __real_##f arguments; \
    }

/* The same; of what it has `made`, so many are held. */
#define WRAP_HOLD(result, f, function, error, kind, many, parameters, arguments) \
    WRAP(result, f, parameters) \
    { \
        if (wraps_fails(function)) \
            return error; \
        result made = __real_##f arguments; \
        wraps_held[kind] += many; \
        return made; \
    }

/* One that makes an object; an error is told by `code`. */
#define WRAP_CREATE(type, f, function, error, parameters, arguments) \
    WRAP_HOLD(type, f, function, (*code = error, NULL), WRAPS_REFERENCES, made != NULL, \
              parameters, arguments)

extern const char *const wraps_names[WRAPS];

/* Calls of a function since the program began, over all threads. */
extern atomic_long wraps_calls[WRAPS];

/* This thread's since its last wraps_fail, of those that it named. */
extern _Thread_local long wraps_own_calls;

/*
 * The calling thread's n-th call from now, counting from 1, of a function, of
 * WRAP_ANY, WRAP_SYMMETRIC or WRAP_EVERY of them fails; n = 0: none will. Only one call fails.
 */
void wraps_fail(int function, int n);

/* The value of a call, an int, within which that is so; behind it none fails. */
#define WITH_FAILURE(function, n, call) (wraps_fail(function, n), wraps_no_more(call))

static inline int wraps_no_more(int value)
{
    wraps_fail(WRAP_ANY, 0);
    return value;
}

/* Of the system's calls that fail: EIO at first. */
extern int wraps_errno;

/* Set behind wraps_fail: so many calls after the one that fails another does; WRAPS_ALL: all after it. */
#define WRAPS_ALL (-1)
extern _Thread_local int wraps_fail_again;

/* Which function has failed since this thread's last wraps_fail, and which then; -1: none. */
extern _Thread_local int wraps_failed, wraps_failed_again;

/* Between the two, which may be nested, this thread's calls neither count nor fail. */
void wraps_pause(void);
void wraps_resume(void);

/* Events in the wait lists of commands since the program began, and of them those that had been found failed. */
extern atomic_long wraps_waited_for, wraps_waited_for_condemned;

/* For a function that is wrapped: counts a call; 1 if it is to fail, with the errno of the system's calls. */
int wraps_fails(int function);

/*
 * What the whole program holds, as far as the functions that make and release it are wrapped:
 * references to OpenCL objects, blocks of the library's allocator, descriptors of files.
 */
enum { WRAPS_REFERENCES, WRAPS_BLOCKS, WRAPS_DESCRIPTORS, WRAPS_KINDS };
extern atomic_long wraps_held[WRAPS_KINDS];

/*
 * The n-th question from now for a command's state finds that it has failed on the device, and so do
 * all later ones for that command, and waits for it; n = 0: none will.
 */
void wraps_condemn(int n);
void wraps_condemn_event(cl_event event);      /* of this command at once */
extern _Thread_local cl_event wraps_condemned; /* NULL: none has yet */

/* For a function that is wrapped: an event is released, and another one may get its address. */
void wraps_forget(cl_event event);

/* What clGetDeviceInfo answers to a question, of three at most, instead of the device's own; NULL: no more to any. */
void wraps_device_says(cl_device_info question, const void *answer, size_t size);
extern cl_device_id wraps_says_of; /* the only device that answers so; NULL: all do */

/* Options that clBuildProgram is given behind the library's; NULL: none. */
extern const char *wraps_build_with;

/*
 * 0: a program of the same context, device, text and options as an earlier one is not built again: kernels
 * and binaries are the earlier one's, which stays. 1: all are built, as is needed where programs come from a
 * cache and wraps_queries.c is not linked.
 */
extern int wraps_build_anew;

/* 0: a program whose build fails cannot be built. 1: its next build does not fail. What a failing one returns. */
extern int wraps_build_fails_once, wraps_build_code;

/* For a function that is wrapped: the program that has a program's kernels. */
cl_program wraps_program_of(cl_program program);

/*
 * What programs are made of instead of every `text` in their sources; NULL: of their sources as they
 * are. wraps_replaced: how often that was, since.
 */
void wraps_replace(const char *text, const char *instead);
extern int wraps_replaced;
