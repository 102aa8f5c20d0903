/* The plain kernels that most OpenCL libraries have: baseline.cl. */
#ifndef TOOLS_BENCH_BASELINE_H
#define TOOLS_BENCH_BASELINE_H

#include "program/opencl.h"
#include "bench/contender.h"

/* "baseline", forward and backward; channels first only. */
int bench_baseline_open(scene *s, cl_program program, contender *made);

#endif
