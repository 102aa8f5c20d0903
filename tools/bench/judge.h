/* Judging what a contender left in its outputs. */
#ifndef TOOLS_BENCH_JUDGE_H
#define TOOLS_BENCH_JUDGE_H

#include "bench/contender.h"

/* The library's outputs, by the float64 reference; `name` is the contender's. */
int bench_judge_library(scene *s, const char *name, const problem *p, const placement *g,
                        const inputs *in, const outputs *out);

/*
 * All others are judged roughly: their sums are rounded in an order of their own, so that no bound
 * of the library's holds for them. A value may be off the library's, which has been verified, by
 *
 *   y               1e-3 of the root mean square of y
 *   dx              1e-3 of that of its first term, weight invstd dy: of few values all cancels
 *   gradients       1e-3 of that of theirs, or 2 u sqrt(n) of n terms of dy's size, u = 2^-24: so
 *                   much do n roundings lose where terms are added one after the other, and
 *                   signs let the sum itself cancel
 *
 * In f16 and bf16 both are rounded to the type: y and dx may differ by one step of it more.
 *
 * Sums of squares in floats are good to 1e-5 for the data that is timed, and a wrong kernel misses
 * by the whole value.
 */
#define BENCH_ROUGH 1e-3

/* The largest |got - right|, less a step of the type where it rounds both; infinite for a NaN. */
double bench_distance(sbn_type type, const float *got, const float *right, size_t count);

/* Reads a tensor of the scene and judges it; `name` is the contender's. */
int bench_judge(scene *s, const char *name, tensor_id id, output_id right);

/* The same for numbers that lie in the order of `right` already. */
int bench_judge_numbers(scene *s, const char *name, const float *got, output_id right);

/* Overwrites what passes write: y, dx and the gradients, of the scene or of a replica. */
int bench_overwrite(scene *s, const tensors *t);

#endif
