/* Sums in any order, in floats: bench_unordered.cl. What the library's exact sums are compared with. */
#ifndef SYNCBN_CLI_BENCH_UNORDERED_H
#define SYNCBN_CLI_BENCH_UNORDERED_H

#include "contender.h"

/* "unordered", forward and backward. */
int bench_unordered_open(scene *s, cl_program program, contender *made);

#endif
