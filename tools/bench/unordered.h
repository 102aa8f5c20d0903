/* Sums in any order, in floats (unordered*.cl), to compare the library's exact sums with. */
#ifndef TOOLS_BENCH_UNORDERED_H
#define TOOLS_BENCH_UNORDERED_H

#include "program/opencl.h"
#include "bench/contender.h"

/* "unordered", forward and backward. */
int bench_unordered_open(scene *s, cl_program program, contender *made);

#endif
