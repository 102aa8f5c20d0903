/* The library on the same shape stored as floats, beside a problem of another type. */
#ifndef TOOLS_BENCH_FLOAT32_H
#define TOOLS_BENCH_FLOAT32_H

#include "bench/contender.h"

/*
 * "f32": the scene's numbers in a layer and buffers of its own, in the scene's group and queue. Its
 * results are compared with the float64 reference.
 */
int bench_float32_open(scene *s, contender *made);

#endif
