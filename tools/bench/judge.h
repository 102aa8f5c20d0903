/* Judging what a contender left in its outputs. */
#pragma once

#include "bench/contender.h"

/* What the library has left in a job of one replica, by the float64 reference. */
int bench_judge_library(job *j);

/*
 * All others are judged roughly, because their sums are rounded in another order, for which the
 * library's bounds do not hold. A value may differ from the library's verified one by
 *
 *   y               1e-3 of the root mean square of y
 *   dx              1e-3 of that of its first term, weight invstd dy: dx itself may cancel
 *   gradients       1e-3 of theirs, or 2 u sqrt(n) of n terms of dy's size, u = 2^-24: the error
 *                   of n terms added one after the other, whose sum may cancel
 *
 * In f16 and bf16 both are rounded to the type: y and dx may differ by one step of it more.
 *
 * What an activation is given may be off by as much as y, and dx jumps where that changes its sign:
 * dx is not judged where it is so near to 0.
 *
 * Sums of squares in floats are good to 1e-5 for the data that is timed, and a wrong kernel misses
 * by the whole value.
 */
#define BENCH_ROUGH 1e-3

/* y, dx and the gradients that a contender has left in the scene's tensors. */
int bench_judge_results(scene *s);

/* The same for numbers that are already in the order of `right`. */
int bench_judge_numbers(scene *s, const float *got, output_id right);

/* Overwrites what passes write: y, dx and the gradients, of all replicas of a job. */
int bench_overwrite(scene *s, const job *j);
