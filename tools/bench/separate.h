/* What follows the batch norm in passes of its own: the library's fused passes are compared with it. */
#ifndef TOOLS_BENCH_SEPARATE_H
#define TOOLS_BENCH_SEPARATE_H

#include "bench/contender.h"

/*
 * "separate", of a fused problem in f32: the library's batch norm, then kernels that add the residual
 * and apply the activation in place of its y; backward, a kernel that writes dy behind the activation,
 * whose sign it has from y, then the library's. It needs a y that tells the sign: the slope of a leaky
 * ReLU is positive.
 */
int bench_separate_open(scene *s, cl_program program, contender *made);

#endif
