/*
 * Mean, variance and sums of gradients from the accumulators of all channels. No OpenCL and no communication.
 *
 * If `only` is not NULL, it selects channels: the accumulators are those of these alone, and results of other
 * channels are not changed.
 */
#pragma once

#include <math.h>

#include "exact/accumulator.h"

/* What a variance is kept above 0 with: eps is added to it or, `clamp`, its lower bound. */
typedef struct sbn_eps {
    double eps;
    int clamp;
} sbn_eps;

/* 1 if eps is used as the bound. */
static inline int sbn__is_clamped(double var, sbn_eps eps)
{
    return eps.clamp && var < eps.eps;
}

/* 1 / sqrt of the variance; a NaN remains NaN. */
static inline double sbn__invstd(double var, sbn_eps eps)
{
    if (sbn__is_clamped(var, eps))
        return 1.0 / sqrt(eps.eps);
    return 1.0 / sqrt(eps.clamp ? var : var + eps.eps);
}

/* Mean and biased variance of `count` > 0 values in each channel. */
void sbn__moments_of(const sbn_accumulators *accumulators, size_t channels,
                     const unsigned char *only, uint64_t count, double *mean, double *var);

/* sum dy and sum dy (x - mean), corrected for the lower part of the mean, which the kernels leave out. */
void sbn__gradient_sums_of(const sbn_accumulators *accumulators, size_t channels,
                           const unsigned char *only, const double *mean, double *dy,
                           double *dy_xmu);

/* The same for channel c alone, in big integers: any format, any number. */
typedef struct sbn_moments {
    double mean, var;
} sbn_moments;

typedef struct sbn_gradient_sums {
    double dy, dy_xmu;
} sbn_gradient_sums;

sbn_moments sbn__bigint_moments(const sbn_accumulators *accumulators, size_t c, uint64_t count);
sbn_gradient_sums sbn__bigint_gradient_sums(const sbn_accumulators *accumulators, size_t c,
                                            double mean);

/*
 * Sets `wide` to 1 for each channel with terms in a wide accumulator, also where the sums are not finite, for those of
 * a replica may be, and returns how many there are. All ranks get the same result, as they have the same flags.
 */
size_t sbn__needs_wide(const sbn_accumulators *accumulators, size_t channels, unsigned char *wide);

/* A double as the unevaluated sum of two floats. */
typedef struct sbn_double_float {
    float high, low;
} sbn_double_float;

static inline sbn_double_float sbn__split_double(double value)
{
    const float high = (float)value;
    /* Inf - Inf would make a NaN of a mean that is Inf. */
    return (sbn_double_float){high, isfinite(high) ? (float)(value - high) : 0.0f};
}
