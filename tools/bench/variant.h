/* The library with other settings of the layer, beside the problem's own. */
#ifndef TOOLS_BENCH_VARIANT_H
#define TOOLS_BENCH_VARIANT_H

#include "bench/contender.h"

enum { BENCH_VARIANTS = 3 };

/*
 * Writes up to BENCH_VARIANTS contenders: "f32", a layer of floats, beside another type; "dense",
 * beside views; "from x", beside backward from the output; "norm alone", without the activation
 * that is the problem's only fusion; "separate" (separate.h), beside what is fused in dense tensors
 * of f32. Results are compared with the float64 reference. *count is also right after an error.
 */
int bench_variants_open(scene *s, cl_program program, contender *made, size_t *count);

#endif
