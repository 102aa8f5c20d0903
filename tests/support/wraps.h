/*
 * The functions that the library calls of others, and its own allocator: counted, and made to
 * fail or to lie on request. A program that links this gives the linker $(wraps), one --wrap for
 * each function; one that wants more of them $(query_wraps), $(system_wraps), $(file_wraps),
 * $(memory_wraps) or $(mpi_wraps), too (tests/support/local.mk).
 */
#ifndef TESTS_SUPPORT_WRAPS_H
#define TESTS_SUPPORT_WRAPS_H

#include <syncbn.h>

#include "program/opencl.h"

/* Each function's number; their names are wraps_names[]. */
enum {
    WRAP_ALLOCATE,
    WRAP_CREATE_PROGRAM,
    WRAP_BUILD,
    WRAP_CREATE_KERNEL,
    WRAP_CREATE_BUFFER,
    WRAP_SET_ARG,
    WRAP_LAUNCH,
    WRAP_READ,
    WRAP_WRITE,
    WRAP_FILL,
    WRAP_MARKER,
    WRAP_FLUSH,
    WRAP_EVENT_INFO,
    WRAP_CREATE_BINARY,
    WRAP_CREATE_QUEUE,
    WRAP_MAP,
    WRAP_RETAIN_EVENT,
    /* wraps_queries.c */
    WRAP_DEVICE_INFO,
    WRAP_PLATFORM_INFO,
    WRAP_PLATFORM_IDS,
    WRAP_DEVICE_IDS,
    WRAP_CREATE_CONTEXT,
    WRAP_QUEUE_INFO,
    WRAP_BUFFER_INFO,
    WRAP_PROGRAM_INFO,
    WRAP_BUILD_INFO,
    WRAP_GROUP_INFO,
    WRAP_CREATE_KERNELS,
    WRAP_UNMAP,
    WRAP_WAIT,
    WRAP_FINISH,
    WRAP_RETAIN_QUEUE,
    WRAP_RETAIN_BUFFER,
    WRAP_RELEASE_QUEUE,
    WRAP_RELEASE_BUFFER,
    WRAP_RELEASE_EVENT,
    WRAP_RELEASE_KERNEL,
    WRAP_RELEASE_PROGRAM,
    /* system_calls.c */
    WRAP_OPENAT,
    WRAP_WRITE_FILE,
    WRAP_CHOWN,
    WRAP_CHMOD,
    WRAP_SYNC,
    WRAP_CLOSE,
    WRAP_RENAME,
    WRAP_UNLINK,
    /* wraps_files.c */
    WRAP_OPEN,
    WRAP_READ_FILE,
    WRAP_PREAD,
    WRAP_STAT,
    WRAP_STAT_AT,
    WRAP_STAT_LINK,
    WRAP_MKDIR,
    WRAP_REAL_PATH,
    /* wraps_memory.c and wraps_mpi.c */
    WRAP_MALLOC, /* from here on as often and in the same order on all ranks */
    WRAP_CALLOC,
    WRAP_MPI_ALLREDUCE,
    WRAP_MPI_CREATE_GROUP,
    WRAP_MPI_DUP,
    WRAP_MPI_COMM_GROUP,
    WRAP_MPI_ERRHANDLER,
    WRAP_MPI_RANK,
    WRAP_MPI_SIZE,
    WRAP_MPI_TEST_INTER,
    WRAP_MPI_INCL,
    WRAP_MPI_IALLREDUCE, /* to here */
    WRAP_MPI_IPROBE,
    WRAP_MPI_ISEND,
    WRAP_MPI_RECV,
    WRAP_MPI_TEST,
    WRAP_MPI_MAIN,
    WRAP_C_MEMORY, /* malloc, calloc and realloc, also of the C library; only if named */
    WRAPS,
    WRAP_ANY = WRAPS, /* one of $(wraps), whose failures are all reported */
    WRAP_SYMMETRIC,   /* one of those that all ranks of a job call alike */
    WRAP_EVERY        /* any but WRAP_C_MEMORY */
};

extern const char *const wraps_names[WRAPS];

/* Calls of a function since the program began, over all threads. */
long wraps_calls(int function);

/* This thread's since its last wraps_fail, of those that it named. */
long wraps_own_calls(void);

/*
 * The calling thread's n-th call from now, counting from 1, of a function, of
 * WRAP_ANY, WRAP_SYMMETRIC or WRAP_EVERY of them fails; n = 0: none will. Only one call fails.
 */
void wraps_fail(int function, int n);

/* Besides: the n-th call after the one that fails; n = WRAPS_ALL: all after it. */
#define WRAPS_ALL (-1)
void wraps_fail_again(int n);

/* Which function has failed since this thread's last wraps_fail, and which then; -1: none. */
int wraps_failed(void);
int wraps_failed_again(void);

/* Between the two, which may be nested, this thread's calls neither count nor fail. */
void wraps_pause(void);
void wraps_resume(void);

/* Events in the wait lists of commands since the program began. */
long wraps_waited_for(void);

/* For a function that is wrapped: counts a call; 1 if it is to fail. */
int wraps_fails(int function);

/*
 * What the whole program holds, as far as the functions that make and release it are wrapped:
 * references to OpenCL objects, blocks of the library's allocator, descriptors of files.
 */
enum { WRAPS_REFERENCES, WRAPS_BLOCKS, WRAPS_DESCRIPTORS, WRAPS_KINDS };
long wraps_held(int kind);
void wraps_hold(int kind, long more);

/*
 * The n-th question from now for a command's state finds that it has failed on the device, and so do
 * all later ones for that command; n = 0: none will. Has one?
 */
void wraps_condemn(int n);
int wraps_condemned(void);

/*
 * What clGetDeviceInfo answers to a question, of three at most, instead of the device's own answer;
 * NULL: no more to any.
 */
void wraps_device_says(cl_device_info question, const void *answer, size_t size);

/* Options that clBuildProgram is given behind the library's; NULL: none. */
void wraps_build_with(const char *options);

/*
 * From now on a program of the same text and options as an earlier one is not built again: kernels and
 * binaries are the earlier one's. The rest is for functions that are wrapped.
 */
void wraps_build_once(void);
void wraps_program_has(cl_program program, const void *text, size_t size);
int wraps_program_is_built(cl_program program, const char *options);
void wraps_program_built(cl_program program);
cl_program wraps_program_of(cl_program program);

/*
 * What programs are made of instead of every `text` in their sources; NULL: of their sources as they
 * are. wraps_replaced: how often that was, since.
 */
void wraps_replace(const char *text, const char *instead);
int wraps_replaced(void);

#endif
