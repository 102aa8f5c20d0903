/* The OpenCL C of the benchmark's kernels, embedded at build: the .cl files of tools/bench. */
#ifndef TOOLS_BENCH_SOURCE_H
#define TOOLS_BENCH_SOURCE_H

#include <stddef.h>

extern const char bench_source[];
extern const size_t bench_source_length;

#endif
