/* How the self-tests run a kernel of a program `apply`, and say what is wrong. */
#pragma once

#include "program/program.h"

/* What a kernel gets as a buffer: its bytes, which it may change. */
typedef struct sbn_self_test_buffer {
    void *bytes;
    size_t size;
} sbn_self_test_buffer;

enum { SBN_SELF_TEST_BUFFERS = 5 };

typedef struct sbn_self_test_launch {
    const char *kernel;
    size_t items, groups[2]; /* work-items of a work-group; work-groups */
    cl_uint count;           /* of buffers: the kernel's arguments */
    sbn_self_test_buffer buffers[SBN_SELF_TEST_BUFFERS];
} sbn_self_test_launch;

/* Runs the kernel and waits for it, and reads all buffers; or sbn__fail for why it could not run. */
int sbn__self_test_run(const sbn_program *program, const sbn_self_test_launch *launch);

/* sbn__fail(SBN_UNSUPPORTED_DEVICE) for a rule of `what`: "arithmetic". */
int sbn__self_test_broken(const sbn_program *program, const char *what, const char *rule);
