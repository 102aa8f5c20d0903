/*
 * Faults planted under the benchmark (tests/tools/bench_wrong.c): calls of the library, of OpenCL and of
 * oneDNN that do nothing, or the wrong thing.
 */
#ifndef TESTS_TOOLS_BENCH_FAULTS_H
#define TESTS_TOOLS_BENCH_FAULTS_H

#include <stddef.h>

enum { ONEDNN_FORWARD = 1, ONEDNN_BACKWARD };

/* One of these, or none. */
typedef struct bench_fault {
    const char *kernel; /* the kernel of this name is not run */
    int copy;           /* clEnqueueCopyBuffer copies nothing */
    int evaluate;       /* sbn_evaluate does nothing */
    size_t forward;     /* sbn_forward over shards of so many samples does nothing */
    int other_layer;    /* sbn_forward of any layer but the first does nothing */
    int halves_alone;   /* sbn_forward of a layer of halves without an activation does nothing */
    size_t begin;       /* sbn_forward_begin over such shards takes dy for x */
    int onednn; /* its primitives of this pass are not run: ONEDNN_FORWARD, ONEDNN_BACKWARD */
} bench_fault;

/* What is wrong from here on. */
void bench_plant(bench_fault fault);

#endif
