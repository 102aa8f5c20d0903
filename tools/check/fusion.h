/*
 * The reference of what follows a batch norm: z = y of the batch norm + residual, then the
 * activation. A slope is the nearest float.
 */
#pragma once

#include "check/placement.h"

/* "none", "relu", "leaky": indexed by sbn_activation. */
extern const char *const activation_names[SBN_LEAKY_RELU + 1];

/* The activation of z, in float64. NaN stays NaN. */
double fusion_activation(const problem *p, double z);

/*
 * How far a computed result may be from the activation of z = y + residual, where a computed y is
 * within `tolerance` of y: the addition's rounding, the largest difference between the activations
 * of two numbers so far apart, and the rounding of the product with a slope. `z` is the sum as it is
 * without a rounding.
 */
double fusion_tolerance(const problem *p, double z, double tolerance);

/* In float, as the library defines both: the result without storage's rounding; dy before dx. */
float fusion_result(const problem *p, float z);
float fusion_gradient(const problem *p, float z, float dy);

/*
 * Makes dy behind the activation from z of the forward pass, for the caller to free; a copy where z is
 * NULL. Returns SBN_SUCCESS or SBN_OUT_OF_MEMORY.
 */
int fusion_behind(const problem *p, const placement *g, const float *dy, const float *z,
                  float **behind);
