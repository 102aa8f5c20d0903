/*
 * The programs' texts: the lists of cl/programs with the files that they name, embedded at build
 * (cl/local.mk, build-aux/embed-kernels.sh).
 */
#pragma once

#include <stddef.h>

/*
 * Which variants of a program have a file: all; those without a fusion; these and those whose fusion
 * changes step 1 of the backward pass.
 */
typedef enum { SBN_USE_ALWAYS, SBN_USE_PLAIN, SBN_USE_SUMS } sbn_source_use;

typedef struct {
    const char *name; /* the file below cl/: "common/common.cl" */
    const char *text; /* NUL-terminated */
    size_t length;    /* without the NUL */
    sbn_source_use use;
} sbn_kernel_source;

typedef struct {
    const char *name;                 /* "cpu_forward" */
    const sbn_kernel_source *sources; /* in the program's order; then one without a name */
} sbn_kernel_list;

/* Then one without a name. */
extern const sbn_kernel_list sbn_kernel_lists[];
