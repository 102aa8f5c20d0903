/*
 * A rough judgement of those who are not the library: their sums are rounded
 * in an order of their own, so that no bound of the library's holds for them.
 * A value may be off the library's, which has been verified, by 1e-3 of the
 * root mean square of what is expected; sums of squares about 0 in floats are
 * good to 1e-5 for the data that is timed, and a wrong kernel misses by 1.
 */
#ifndef SYNCBN_CLI_BENCH_ROUGH_H
#define SYNCBN_CLI_BENCH_ROUGH_H

#include "contender.h"

#define BENCH_ROUGH 1e-3

/* The largest |got - right| as a share of the root mean square of `right`; infinite for a NaN. */
double bench_distance(const float *got, const float *right, size_t count);

/* Reads a tensor of the scene and judges it; `name` is the contender's. */
int bench_judge(scene *s, const char *name, tensor_id id, output_id right);

/* The same for numbers that lie in the order of `right` already. */
int bench_judge_numbers(scene *s, const char *name, const float *got, output_id right);

/* Overwrites what passes write: y, dx and the gradients. */
int bench_overwrite(scene *s);

#endif
