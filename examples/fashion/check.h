/*
 * Every result of OpenCL, CLBlast and syncbn goes through one of these: a
 * failure ends the program with one sentence that says what was being done.
 * An example may stop there; a library would hand the error on.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a failure calls before the program ends, unless NULL. */
extern void (*when_failed)(void);

/* Writes a sentence, with the program's name before it. */
void complain(const char *format, va_list arguments);

/* What was printed has been written; asked before the program ends well. */
void must_print(void);

void must_cl(cl_int status, const char *doing);
void must_blas(int status, const char *doing);
void must_sbn(int status, const char *doing);

/* Zeroed memory for `count` items; never NULL. */
void *must_alloc(size_t count, size_t size);
