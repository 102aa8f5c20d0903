/*
 * How far the library may be from the exact sums: the reduction's own stated
 * bound, computed for each channel from its definition and its data. u = 2^-24.
 *
 * A plane (one sample, one channel) is cut into blocks; only inside a block
 * is anything rounded, everything after it is exact integers. In a block of n
 * elements a sum goes through ceil(n / 16) additions in a lane and 4 folds of
 * the 16 lanes; with one rounding for each term and one to spare,
 *
 *   k = ceil(n / 16) + 4 + 2.
 *
 * Forward. The pivot p is a float near the mean m_p of the block's first 16
 * elements, in the wide format of all: |p - m_p| <= k u mean|x| of the same. Where
 * A^2 > n Q / 2 the block is summed again: then m_p is the mean of all, and the sums
 * of the first time around q move p by k u mean|x - q| + u |p| at most.
 * With d = x - p, A = sum d and Q = sum d^2 by fma,
 *
 *   |error of sum x|             <= k u sum|d|                         =: a
 *   |error of sum (x - mean)^2|  <= (k + 2) u sum d^2 + 2 |p - mean| a
 *
 * the second because sum x^2 is formed as n p^2 + 2 p A + Q with the same A,
 * so that an error of A meets p in one and the mean in the other sum. Over the
 * channel there is also (sum of the a)^2 / N.
 *
 * Backward. g is the pivot of dy, e = dy - g, d = x - m_hi, where m_hi is the mean as
 * one float: |d| <= |x - mean| + u |mean| + error of the mean. The block is summed again
 * where |sum e| > 3/8 n max|e|.
 *
 *   |error of sum dy|            <= k u sum|e|
 *   |error of sum dy (x - mean)| <= (k + 2) u (sum|e||d| + |g| sum|d|)
 *                                   + u |mean| error(sum dy) + error(mean) |sum dy|
 *
 * To these come what the format of the fixed-point sums cuts off and what the
 * squares lose to float's underflow.
 *
 * Data of the kind `exact` (inputs.c) has sums that no step rounds: its bounds
 * are 0, so that what remains of a tolerance is the apply's own roundings.
 */
#pragma once

#include "check/reference.h"
#include "exact/format.h"

/* Which pivots are poor; where the squares cannot underflow. */
#define BOUND_POOR_SQUARES 0.5
#define BOUND_POOR_LARGEST 0.375
#define BOUND_SURE_SUM 0x1p-60

/* The narrow format's cut, for each value that is summed. */
#define BOUND_CUT_MEAN 0x1p-63
#define BOUND_CUT_VAR 0x1p-78
#define BOUND_CUT_GRADIENT 0x1p-94

/* Underflow of the squares in float. */
#define BOUND_UNDERFLOW 0x1p-148

/* The mean travels as two floats: 48 bits. */
#define BOUND_TWO_FLOATS 0x1p-48

/* Fills in the bounds of a reference that has been made of the same. */
void bounds_make(const problem *p, const placement *g, const inputs *in, reference *ref);

/*
 * Backward from the output: how far x is off that y gives back (doc/from-output.md). Of x - mean, for an x
 * of channel c; 0 for a layer whose backward pass reads x.
 */
double recovery_error(const problem *p, const inputs *in, const reference_channel *ch, size_t c,
                      double x);
