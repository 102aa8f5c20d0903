/*
 * The library's calls into OpenCL and its own allocator, counted, and made to
 * fail or to lie on request: a program that links this gives the linker
 * $(wraps), one --wrap for each function (tests/local.mk).
 */
#ifndef TESTS_SUPPORT_WRAPS_H
#define TESTS_SUPPORT_WRAPS_H

#include <syncbn.h>

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
    WRAP_MARKER,
    WRAP_FLUSH,
    WRAP_EVENT_INFO,
    WRAP_CREATE_BINARY,
    WRAP_CREATE_QUEUE,
    WRAP_MAP,
    WRAP_WRITE_RECT,
    WRAP_RETAIN_EVENT,
    WRAP_WAIT, /* these two never fail */
    WRAP_FINISH,
    WRAPS,
    WRAP_ANY = WRAPS
};

extern const char *const wraps_names[WRAPS];

/* Calls of a function since the program began, over all threads. */
long wraps_calls(int function);

/*
 * The calling thread's n-th call from now, counting from 1, of a function or
 * of WRAP_ANY of them fails; n = 0: none will. Only one call fails.
 */
void wraps_fail(int function, int n);

/* Which function has failed since this thread's last wraps_fail; -1: none. */
int wraps_failed(void);

/*
 * The n-th question from now for a command's state finds that it has failed on the device, and so do
 * all later ones for that command; n = 0: none will. Has one?
 */
void wraps_condemn(int n);
int wraps_condemned(void);

/*
 * What clGetDeviceInfo answers to a question, of two at most, instead of the device's own answer;
 * NULL: no more to any.
 */
void wraps_device_says(cl_device_info question, const void *answer, size_t size);

/* Options that clBuildProgram is given behind the library's; NULL: none. */
void wraps_build_with(const char *options);

/*
 * What programs are made of instead of every `text` in their sources; NULL: of their sources as they
 * are. wraps_replaced: how often that was, since.
 */
void wraps_replace(const char *text, const char *instead);
int wraps_replaced(void);

#endif
