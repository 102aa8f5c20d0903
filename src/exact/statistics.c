#include "exact/statistics.h"

#include <float.h>

#include "exact/bigint.h"
#include "exact/int192.h"

/* The value of the first sum where it is not finite; 0 where it is. */
static double special(int64_t flags)
{
    const int64_t both = SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF;
    if ((flags & both) == both)
        return NAN;
    if (flags & both)
        return flags & SBN_FLAG_PLUS_INF ? INFINITY : -INFINITY;
    return 0.0;
}

/* The exact remainder of the mean's upper float: the kernels' mean_low has too few bits for a sum. */
static inline double mean_low_of(double mean)
{
    return mean - (double)(float)mean;
}

/* Flags that make a sum invalid, not only imprecise. */
#define SPECIAL (SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF | SBN_FLAG_OVERFLOW)

static void bigint_sums(const sbn_accumulators *accumulators, size_t c, sbn_bigint *first,
                        sbn_bigint *second)
{
    const sbn_format *format = accumulators->format;
    const int64_t *limbs = sbn__accumulator_limbs(accumulators, c);
    sbn__bigint_from_limbs(first, limbs, format->limbs1, format->limb_bits);
    sbn__bigint_from_limbs(second, limbs + format->limbs1, format->limbs2, format->limb_bits);
}

sbn_moments sbn__bigint_moments(const sbn_accumulators *accumulators, size_t c, uint64_t count)
{
    const sbn_format *format = accumulators->format;
    const int64_t flags = sbn__accumulator_flags(accumulators, c);
    const double not_finite = special(flags), n = (double)count;
    if (not_finite != 0.0)
        return (sbn_moments){not_finite, NAN};

    /* var = (n sum x^2 - (sum x)^2) / n^2, exact up to the division. */
    sbn_bigint sum, squares, factor, product, square, difference;
    bigint_sums(accumulators, c, &sum, &squares);
    const double mean = sbn__bigint_to_double(&sum, -format->low1) / n;
    if (flags & SBN_FLAG_OVERFLOW)
        return (sbn_moments){mean, INFINITY};
    sbn__bigint_from_uint64(&factor, count, 2 * format->low1 - format->low2);
    sbn__bigint_multiply(&product, &squares, &factor);
    sbn__bigint_multiply(&square, &sum, &sum);
    sbn__bigint_subtract(&difference, &product, &square);
    /* Rounding within blocks can make the variance of constant values slightly negative. */
    if (difference.negative || product.negative)
        return (sbn_moments){mean, 0.0};
    /* A variance that no float can hold is +Inf, for every order of blocks. */
    const double var = sbn__bigint_to_double(&difference, -2 * format->low1) / n / n;
    return (sbn_moments){mean, var > FLT_MAX ? INFINITY : var};
}

sbn_gradient_sums sbn__bigint_gradient_sums(const sbn_accumulators *accumulators, size_t c,
                                            double mean)
{
    const sbn_format *format = accumulators->format;
    const int64_t flags = sbn__accumulator_flags(accumulators, c);
    const double not_finite = special(flags);
    if (not_finite != 0.0)
        return (sbn_gradient_sums){not_finite, NAN};
    sbn_bigint sum, product;
    bigint_sums(accumulators, c, &sum, &product);
    const double dy = sbn__bigint_to_double(&sum, -format->low1);
    if (flags & SBN_FLAG_OVERFLOW)
        return (sbn_gradient_sums){dy, NAN};
    const double raw = sbn__bigint_to_double(&product, -format->low2);
    return (sbn_gradient_sums){dy, raw - mean_low_of(mean) * dy};
}

#ifdef __SIZEOF_INT128__

static inline int int192_sums(const sbn_accumulators *accumulators, size_t c, sbn_int192 *first,
                              sbn_int192 *second)
{
    const sbn_format *format = accumulators->format;
    const int64_t *limbs = sbn__accumulator_limbs(accumulators, c);
    return sbn__int192_from_limbs(first, limbs, format->limbs1) &&
           sbn__int192_from_limbs(second, limbs + format->limbs1, format->limbs2);
}

/*
 * The same for a channel of the narrow formats, moments of the forward one, without special flags;
 * 0 where a number is too long.
 */
static inline int int192_moments(const sbn_accumulators *accumulators, size_t c, uint64_t count,
                                 sbn_moments *result)
{
    const sbn_format *format = accumulators->format;
    const int shift = 2 * format->low1 - format->low2;
    const double n = (double)count;
    sbn_int192 sum, squares;
    double n2_variance;
    if (!int192_sums(accumulators, c, &sum, &squares) ||
        !sbn__int192_n2_variance(sum, squares, count, shift, -2 * format->low1, &n2_variance))
        return 0;
    *result = (sbn_moments){sbn__int192_to_double(sum, -format->low1) / n, n2_variance / n / n};
    return 1;
}

static inline int int192_gradient_sums(const sbn_accumulators *accumulators, size_t c, double mean,
                                       sbn_gradient_sums *result)
{
    sbn_int192 sum, product;
    if (!int192_sums(accumulators, c, &sum, &product))
        return 0;
    const double dy = sbn__int192_to_double(sum, -accumulators->format->low1);
    const double raw = sbn__int192_to_double(product, -accumulators->format->low2);
    *result = (sbn_gradient_sums){dy, raw - mean_low_of(mean) * dy};
    return 1;
}

#else

#define int192_moments(accumulators, c, count, result) 0
#define int192_gradient_sums(accumulators, c, mean, result) 0

#endif

void sbn__moments_of(const sbn_accumulators *accumulators, size_t channels,
                     const unsigned char *only, uint64_t count, double *mean, double *var)
{
    size_t at = 0;
    for (size_t c = 0; c < channels; ++c) {
        if (only && !only[c])
            continue;
        sbn_moments moments;
        if (accumulators->format != &sbn_forward_narrow ||
            sbn__accumulator_flags(accumulators, at) & SPECIAL ||
            !int192_moments(accumulators, at, count, &moments))
            moments = sbn__bigint_moments(accumulators, at, count);
        ++at;
        mean[c] = moments.mean;
        var[c] = moments.var;
    }
}

void sbn__gradient_sums_of(const sbn_accumulators *accumulators, size_t channels,
                           const unsigned char *only, const double *mean, double *dy,
                           double *dy_xmu)
{
    size_t at = 0;
    for (size_t c = 0; c < channels; ++c) {
        if (only && !only[c])
            continue;
        sbn_gradient_sums sums;
        if (accumulators->format == &sbn_wide ||
            sbn__accumulator_flags(accumulators, at) & SPECIAL ||
            !int192_gradient_sums(accumulators, at, mean[c], &sums))
            sums = sbn__bigint_gradient_sums(accumulators, at, mean[c]);
        ++at;
        dy[c] = sums.dy;
        dy_xmu[c] = sums.dy_xmu;
    }
}

size_t sbn__needs_wide(const sbn_accumulators *accumulators, size_t channels, unsigned char *wide)
{
    size_t count = 0;
    for (size_t c = 0; c < channels; ++c) {
        wide[c] = (sbn__accumulator_flags(accumulators, c) & SBN_FLAG_WIDE) != 0;
        count += wide[c];
    }
    return count;
}
