#include "statistics.h"

#include <math.h>

#include "sum.h"

#define FLAG_COUNT_BITS 12

void sbn_add_words(const int64_t *words, const sbn_window *window, int64_t *wire)
{
    sbn_big sum;
    sbn_big_from_digits(&sum, words, window->digits1, SBN_DIGIT_BITS);
    sbn_big_add_to_digits(&sum, wire, sbn_wire_digits1(window), SBN_WIRE_BITS);
    wire += sbn_wire_digits1(window);
    words += window->digits1;
    sbn_big_from_digits(&sum, words, window->digits2, SBN_DIGIT_BITS);
    sbn_big_add_to_digits(&sum, wire, sbn_wire_digits2(window), SBN_WIRE_BITS);
    wire += sbn_wire_digits2(window);
    *wire |= words[window->digits2];
}

static void carry(int64_t *digits, int count)
{
    const int64_t base = INT64_C(1) << SBN_WIRE_BITS;
    for (int k = 0; k + 1 < count; ++k) {
        const int64_t up = digits[k] >> SBN_WIRE_BITS;
        digits[k] -= up * base;
        digits[k + 1] += up;
    }
}

void sbn_carry_words(int64_t *wire, const sbn_window *window)
{
    carry(wire, sbn_wire_digits1(window));
    carry(wire + sbn_wire_digits1(window), sbn_wire_digits2(window));
}

int64_t sbn_flags_to_counts(int64_t flags)
{
    int64_t counts = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        counts |= (flags >> i & 1) << (i * FLAG_COUNT_BITS);
    return counts;
}

int64_t sbn_flags_from_counts(int64_t counts)
{
    int64_t flags = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        if (counts >> (i * FLAG_COUNT_BITS) & ((1 << FLAG_COUNT_BITS) - 1))
            flags |= 1 << i;
    return flags;
}

double sbn_invstd(double var, sbn_eps eps)
{
    if (!eps.clamp)
        return 1.0 / sqrt(var + eps.eps);
    /* A NaN stays one. */
    return 1.0 / sqrt(var < eps.eps ? eps.eps : var);
}

int sbn_is_clamped(double var, sbn_eps eps)
{
    return eps.clamp && var < eps.eps;
}

static int64_t flags_at(const int64_t *wire, const sbn_window *window)
{
    return wire[sbn_wire_words(window) - 1];
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

sbn_moments sbn_moments_of(const int64_t *wire, const sbn_window *window, uint64_t count)
{
    const int64_t flags = flags_at(wire, window);
    const double not_finite = special(flags), n = (double)count;
    if (not_finite != 0.0)
        return (sbn_moments){not_finite, NAN};

    /* var = (n sum x^2 - (sum x)^2) / n^2, exact up to the division. */
    sbn_big sum, squares, factor, product, aligned, square, difference;
    sbn_big_from_digits(&sum, wire, sbn_wire_digits1(window), SBN_WIRE_BITS);
    sbn_big_from_digits(&squares, wire + sbn_wire_digits1(window), sbn_wire_digits2(window),
                        SBN_WIRE_BITS);
    const double mean = sbn_big_to_double(&sum, -window->low1) / n;
    if (flags & SBN_FLAG_OVER)
        return (sbn_moments){mean, INFINITY};
    sbn_big_from_uint64(&factor, count);
    sbn_big_multiply(&product, &squares, &factor);
    sbn_big_shift_left(&aligned, &product, 2 * window->low1 - window->low2);
    sbn_big_multiply(&square, &sum, &sum);
    sbn_big_subtract(&difference, &aligned, &square);
    /* The floats' rounding within blocks can leave a constant a hair below zero. */
    if (difference.negative || aligned.negative)
        return (sbn_moments){mean, 0.0};
    return (sbn_moments){mean, sbn_big_to_double(&difference, -2 * window->low1) / n / n};
}

/* All blocks near the window's bottom, or one above its top. */
static int does_not_fit(int64_t flags)
{
    return flags & SBN_FLAG_OVER || (flags & SBN_FLAG_FAINT && !(flags & SBN_FLAG_CLEAR));
}

int sbn_forward_needs_wide(const int64_t *wire, sbn_moments moments, sbn_eps eps)
{
    const int64_t flags = flags_at(wire, &sbn_forward_narrow);
    if (flags & (SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF))
        return 0;
    /* A variance this small has few bits in the window; only a smaller eps lets it matter. */
    const int thin = sbn_invstd(moments.var, eps) > 0x1p24;
    return does_not_fit(flags) || (thin && flags & SBN_FLAG_CLEAR);
}

int sbn_backward_needs_wide(const int64_t *wire, double invstd)
{
    const int64_t flags = flags_at(wire, &sbn_backward_narrow);
    if (flags & (SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF))
        return 0;
    return does_not_fit(flags) || (invstd > 0x1p12 && flags & SBN_FLAG_CLEAR);
}

sbn_products sbn_products_of(const int64_t *wire, const sbn_window *window, double mean_low)
{
    const int64_t flags = flags_at(wire, window);
    const double not_finite = special(flags);
    if (not_finite != 0.0)
        return (sbn_products){not_finite, NAN};
    sbn_big sum, product;
    sbn_big_from_digits(&sum, wire, sbn_wire_digits1(window), SBN_WIRE_BITS);
    const double dy = sbn_big_to_double(&sum, -window->low1);
    if (flags & SBN_FLAG_OVER)
        return (sbn_products){dy, NAN};
    sbn_big_from_digits(&product, wire + sbn_wire_digits1(window), sbn_wire_digits2(window),
                        SBN_WIRE_BITS);
    const double raw = sbn_big_to_double(&product, -window->low2);
    return (sbn_products){dy, raw - mean_low * dy};
}

sbn_two_floats sbn_split(double value)
{
    const float high = (float)value;
    /* Inf - Inf would make a NaN of a mean that is Inf. */
    return (sbn_two_floats){high, isfinite(high) ? (float)(value - high) : 0.0f};
}
