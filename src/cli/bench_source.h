/* The OpenCL C of the benchmark's kernels, embedded at build: src/cli/bench_*.cl, one after the other. */
#ifndef SYNCBN_CLI_BENCH_SOURCE_H
#define SYNCBN_CLI_BENCH_SOURCE_H

#include <stddef.h>

extern const char bench_source[];
extern const size_t bench_source_length;

#endif
