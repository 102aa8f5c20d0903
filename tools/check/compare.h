/*
 * Judging outputs against the reference. Every element has a tolerance of its
 * own, derived and never a constant; with a = weight invstd, p = a,
 * t = invstd^2 sum(dy (x - mean)) / N, q = -p t, u = 2^-24:
 *
 *   y    4u (|a (x - mean)| + |bias|)                    the apply's roundings
 *        + |a| (error(mean) + |x - mean| error(invstd))  the reduction's bound
 *
 *   dx   8u (|p (dy - g)| + |q (x - mean)| + |r|),  g = mean of dy,
 *                                                   |r| <= u (|p g| + |q mean|)
 *        + |p| (|dy - g| error(invstd) + error(g)
 *               + |x - mean| error(t) + |t| error(mean))
 *
 * error() is bounds.h's, invstd's being relative; products of errors are
 * included by factors 1 + error(invstd). Evaluation is judged from the running
 * statistics that the library itself returned, so it has the first line alone.
 *
 * Behind the batch norm y's tolerance is carried through the residual's addition and the activation
 * (fusion.h). All gradients are judged for dy behind the activation: dy where the bits of `preactivation`
 * say so, else 0 or its product with the slope. Where there is a result `apart`, all results have its bits:
 * rounded to the type, y with the residual and the activation behind it; the residual's gradient is dy there.
 *
 * From the output (doc/from-output.md) x - mean is off by as much as storing y has lost of it. Sums
 * of dy (x - mean) may then be off by the sum of |dy| times this, and dx by |p t| times this.
 *
 * y and dx of f16 and bf16 are such values as the type stores them: a result must lie
 * between expected - tolerance and expected + tolerance, both rounded to the type, to
 * nearest even. Of a subnormal result nothing else is allowed, and an infinity only
 * where IEEE 754 rounds to it. The ratio is of the error to what is left of this
 * interval on the result's side.
 *
 * Not-finite values: where the reference is NaN the output must be; where it
 * is an infinity the output must be that infinity or NaN. weight_grad may be NaN, and dx
 * NaN or Inf, where floats on the way to them may overflow, as pass.h says. Exact data, whose
 * sums need no rounding, must give the correctly rounded mean, variance and
 * sum of dy: tolerance 0. So must a recomputed y the bits of y.
 */
#pragma once

#include "check/outputs.h"
#include "check/reference.h"

/* The judgement of an output, made value by value. */
typedef struct verdict {
    int judged;       /* 0: the problem has no such output */
    size_t failures;  /* values beyond their tolerance */
    size_t unbounded; /* values that no bound holds for: eps is 0, the variance may be */
    double ratio;     /* the largest error / tolerance */
    /* Where that was: */
    double error, tolerance, got, expected;
    size_t index; /* into the output's data */
} verdict;

typedef struct comparison {
    verdict of[OUTPUTS];
    int counts_ok; /* values per channel, batches tracked */
    int ok;        /* everything above */
} comparison;

/* Returns SBN_SUCCESS or SBN_OUT_OF_MEMORY; *result is the judgement. */
int compare(const problem *p, const placement *g, const inputs *in, const outputs *out,
            comparison *result);

/* Where an output's element lies, in words: "sample 3 channel 0 position 17". */
void compare_where(const placement *g, output_id id, size_t index, char *text, size_t size);

/* A sentence about an output that has failures. */
void compare_explain(const placement *g, const outputs *out, const comparison *judged, output_id id,
                     char *text, size_t size);
