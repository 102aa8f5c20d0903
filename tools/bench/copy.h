/* Copies of x to y on the device: passes are compared with their speed. */
#ifndef TOOLS_BENCH_COPY_H
#define TOOLS_BENCH_COPY_H

#include "program/opencl.h"
#include "bench/contender.h"

enum { BENCH_COPIES = 4 };

/*
 * Contenders "plain", "vector", "nontemporal" (where the compiler has it) and
 * "clEnqueueCopyBuffer". Writes up to BENCH_COPIES of them; *count is also
 * right after an error, so that those made can be closed.
 */
int bench_copy_open(scene *s, cl_program program, contender *made, size_t *count);

#endif
