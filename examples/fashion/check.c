#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <syncbn.h>

void (*when_failed)(void);

void complain(const char *format, va_list arguments)
{
    fflush(stdout);
    fputs("train_fashion: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

_Noreturn void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    if (when_failed)
        when_failed();
    exit(1);
}

void must_print(void)
{
    if (fflush(stdout) || ferror(stdout))
        fail("standard output cannot be written");
}

void must_cl(cl_int status, const char *doing)
{
    if (status != CL_SUCCESS)
        fail("OpenCL failed %s: %s (%d)", doing, sbn_strerror(status), (int)status);
}

void must_blas(int status, const char *doing)
{
    /* CLBlast passes OpenCL's codes on and puts its own below -1000. */
    if (status != 0)
        fail("CLBlast failed %s: status %d%s%s", doing, status, status > -1000 ? ", " : "",
             status > -1000 ? sbn_strerror(status) : "");
}

void must_sbn(int status, const char *doing)
{
    if (status != SBN_SUCCESS)
        fail("syncbn failed %s: %s: %s", doing, sbn_strerror(status), sbn_last_error());
}

void *must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        fail("out of memory: %zu items of %zu bytes", count, size);
    return memory;
}
