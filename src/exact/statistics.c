#include "exact/statistics.h"

#include <float.h>

#include "exact/narrow.h"
#include "exact/big.h"

double sbn__invstd(double var, sbn_eps eps)
{
    if (!eps.clamp)
        return 1.0 / sqrt(var + eps.eps);
    /* A NaN stays one. */
    return 1.0 / sqrt(var < eps.eps ? eps.eps : var);
}

void sbn__invstd_of(const double *var, size_t channels, sbn_eps eps, double *invstd)
{
    for (size_t c = 0; c < channels; ++c)
        invstd[c] = sbn__invstd(var[c], eps);
}

int sbn__is_clamped(double var, sbn_eps eps)
{
    return eps.clamp && var < eps.eps;
}

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

/* What d = x - mean left out, in full: the kernels' mean_low has too few bits for a sum. */
static inline double mean_low_of(double mean)
{
    return mean - (double)(float)mean;
}

/* Flags that say more than how far from the format's bottom a channel is. */
#define SPECIAL (SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF | SBN_FLAG_OVER)

static void wide_sums(const sbn_accumulators *words, size_t c, sbn_big *first, sbn_big *second)
{
    const int64_t *digits = sbn__accumulators_of(words, c);
    sbn__big_from_digits(first, digits, words->digits1, SBN_DIGIT_BITS);
    sbn__big_from_digits(second, digits + words->digits1, words->digits2, SBN_DIGIT_BITS);
}

sbn_two_sums sbn__wide_moments_of(const sbn_accumulators *words, size_t c, uint64_t count)
{
    const sbn_format *format = words->format;
    const int64_t flags = sbn__flags_of(words, c);
    const double not_finite = special(flags), n = (double)count;
    if (not_finite != 0.0)
        return (sbn_two_sums){not_finite, NAN};

    /* var = (n sum x^2 - (sum x)^2) / n^2, exact up to the division. */
    sbn_big sum, squares, factor, product, aligned, square, difference;
    wide_sums(words, c, &sum, &squares);
    const double mean = sbn__big_to_double(&sum, -format->low1) / n;
    if (flags & SBN_FLAG_OVER)
        return (sbn_two_sums){mean, INFINITY};
    sbn__big_from_uint64(&factor, count);
    sbn__big_multiply(&product, &squares, &factor);
    sbn__big_shift_left(&aligned, &product, 2 * format->low1 - format->low2);
    sbn__big_multiply(&square, &sum, &sum);
    sbn__big_subtract(&difference, &aligned, &square);
    /* The floats' rounding within blocks can leave a constant a hair below zero. */
    if (difference.negative || aligned.negative)
        return (sbn_two_sums){mean, 0.0};
    /* Beyond the largest float is +Inf, however the blocks lie. */
    const double var = sbn__big_to_double(&difference, -2 * format->low1) / n / n;
    return (sbn_two_sums){mean, var > FLT_MAX ? INFINITY : var};
}

sbn_two_sums sbn__wide_products_of(const sbn_accumulators *words, size_t c, double mean)
{
    const sbn_format *format = words->format;
    const int64_t flags = sbn__flags_of(words, c);
    const double not_finite = special(flags);
    if (not_finite != 0.0)
        return (sbn_two_sums){not_finite, NAN};
    sbn_big sum, product;
    wide_sums(words, c, &sum, &product);
    const double dy = sbn__big_to_double(&sum, -format->low1);
    if (flags & SBN_FLAG_OVER)
        return (sbn_two_sums){dy, NAN};
    const double raw = sbn__big_to_double(&product, -format->low2);
    return (sbn_two_sums){dy, raw - mean_low_of(mean) * dy};
}

#ifdef __SIZEOF_INT128__

static inline int narrow_sums(const sbn_accumulators *words, size_t c, sbn_narrow *first,
                              sbn_narrow *second)
{
    const int64_t *digits = sbn__accumulators_of(words, c);
    return sbn__narrow_from_digits(first, digits, words->digits1) &&
           sbn__narrow_from_digits(second, digits + words->digits1, words->digits2);
}

/* The same for a channel of a narrow format without special flags; 0 where a number is too long. */
static inline int narrow_moments(const sbn_accumulators *words, size_t c, uint64_t count,
                                 sbn_two_sums *result)
{
    const sbn_format *format = words->format;
    const int shift = 2 * format->low1 - format->low2;
    const double n = (double)count;
    sbn_narrow sum, squares;
    double spread;
    if (!narrow_sums(words, c, &sum, &squares) || shift < 1 || shift > 63 ||
        !sbn__narrow_spread(sum, squares, count, shift, -2 * format->low1, &spread))
        return 0;
    *result = (sbn_two_sums){sbn__narrow_to_double(sum, -format->low1) / n, spread / n / n};
    return 1;
}

static inline int narrow_products(const sbn_accumulators *words, size_t c, double mean,
                                  sbn_two_sums *result)
{
    sbn_narrow sum, product;
    if (!narrow_sums(words, c, &sum, &product))
        return 0;
    const double dy = sbn__narrow_to_double(sum, -words->format->low1);
    const double raw = sbn__narrow_to_double(product, -words->format->low2);
    *result = (sbn_two_sums){dy, raw - mean_low_of(mean) * dy};
    return 1;
}

#else

static int narrow_moments(const sbn_accumulators *words, size_t c, uint64_t count,
                          sbn_two_sums *result)
{
    (void)words, (void)c, (void)count, (void)result;
    return 0;
}

static int narrow_products(const sbn_accumulators *words, size_t c, double mean,
                           sbn_two_sums *result)
{
    (void)words, (void)c, (void)mean, (void)result;
    return 0;
}

#endif

void sbn__moments_of(const sbn_accumulators *words, size_t channels, const unsigned char *only,
                     uint64_t count, double *mean, double *var)
{
    for (size_t c = 0; c < channels; ++c) {
        if (only && !only[c])
            continue;
        sbn_two_sums moments;
        if (words->format->wide || sbn__flags_of(words, c) & SPECIAL ||
            !narrow_moments(words, c, count, &moments))
            moments = sbn__wide_moments_of(words, c, count);
        mean[c] = moments.first;
        var[c] = moments.second;
    }
}

void sbn__products_of(const sbn_accumulators *words, size_t channels, const unsigned char *only,
                      const double *mean, double *dy, double *dy_xmu)
{
    for (size_t c = 0; c < channels; ++c) {
        if (only && !only[c])
            continue;
        sbn_two_sums products;
        if (words->format->wide || sbn__flags_of(words, c) & SPECIAL ||
            !narrow_products(words, c, mean[c], &products))
            products = sbn__wide_products_of(words, c, mean[c]);
        dy[c] = products.first;
        dy_xmu[c] = products.second;
    }
}

/* All blocks near the format's bottom, or one above its top, or a spread too thin for it. */
static int does_not_fit(int64_t flags, int thin)
{
    if (flags & (SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF))
        return 0;
    return flags & SBN_FLAG_OVER || (flags & SBN_FLAG_FAINT && !(flags & SBN_FLAG_CLEAR)) ||
           (thin && flags & SBN_FLAG_CLEAR);
}

static int needs_wide(const sbn_accumulators *words, size_t channels, const double *invstd,
                      double thin, unsigned char *repeat)
{
    int any = 0;
    for (size_t c = 0; c < channels; ++c) {
        repeat[c] = (unsigned char)does_not_fit(sbn__flags_of(words, c), invstd[c] > thin);
        any |= repeat[c];
    }
    return any;
}

/* A variance this small has few bits in the format; only a smaller eps lets it matter. */
int sbn__forward_needs_wide(const sbn_accumulators *words, size_t channels, const double *invstd,
                            unsigned char *repeat)
{
    return needs_wide(words, channels, invstd, 0x1p24, repeat);
}

int sbn__backward_needs_wide(const sbn_accumulators *words, size_t channels, const double *invstd,
                             unsigned char *repeat)
{
    return needs_wide(words, channels, invstd, 0x1p12, repeat);
}
