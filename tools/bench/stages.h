/*
 * A contender made of the benchmark's own kernels: a sequence of them for each pass, forward and
 * backward, enqueued without waiting.
 */
#ifndef TOOLS_BENCH_STAGES_H
#define TOOLS_BENCH_STAGES_H

#include "program/opencl.h"
#include "bench/kernels.h"

enum { STAGES_MAX = 3, STAGES_BUFFERS = 3 };

typedef struct stages {
    const char *name;
    scene *scene;
    size_t count[BENCH_PASSES];
    bench_kernel kernel[BENCH_PASSES][STAGES_MAX];
    cl_mem buffer[STAGES_BUFFERS]; /* what the kernels pass on */
} stages;

/* A buffer of this many floats; closing the contender releases it. */
int stages_buffer(stages *s, size_t which, size_t floats);

/* The next kernel of a pass; the program must have it. */
int stages_add(stages *s, bench_pass pass, cl_program program, const char *name,
               const sbn_argument *arguments, size_t count, size_t items, size_t local);

/* The contender, judged roughly. It owns `s`, which was allocated. */
contender stages_contender(stages *s);

#endif
