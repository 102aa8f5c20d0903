/*
 * The texts of cl/, embedded at build (cl/local.mk, build-aux/embed-kernels.sh).
 * They stand in the order of cl/local.mk.
 */
#ifndef SBN_PROGRAM_KERNELS_H
#define SBN_PROGRAM_KERNELS_H

#include <stddef.h>

typedef struct {
    const char *name; /* the file below cl/: "forward.cl" */
    const char *text; /* NUL-terminated */
    size_t length;    /* without the NUL */
} sbn_kernel_source;

extern const sbn_kernel_source sbn_kernel_sources[];
extern const size_t sbn_kernel_source_count;

#endif
