/*
 * The gradients of a layer with from_output held against float64, twice:
 *
 *   from the stored y    to the roundings of the arithmetic alone
 *   from the stored x    with what the rounding of y takes from xhat (doc/order.md) added,
 *
 *     u (|xhat| + |bias / weight|) + tiny / (slope |weight|)
 */
#ifndef TESTS_PASS_OUTPUT_REFERENCE_H
#define TESTS_PASS_OUTPUT_REFERENCE_H

#include "pass/output_sides.h"

/* Tensors of all replicas, one after the other, widened, and a number for each channel. */
typedef struct numbers {
    float *x, *y, *dy, *dx;
    float *ordinary; /* dx of a layer of the same settings without from_output */
    float *weight, *bias, *weight_grad, *bias_grad, *mean, *var;
    size_t count; /* elements of a tensor */
} numbers;

/*
 * 1, or 0 and the first fault. `worst` becomes the largest share of the second tolerance that dx
 * takes.
 */
int output_is_right(const case_of *c, const numbers *v, double *worst, char *why, size_t size);

#endif
