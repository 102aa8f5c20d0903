#include "exact/format.h"

#include <stdio.h>

/* 256 p < 2^26, 256 p^2 < 2^44, 2 p A < 2^47, all below 2^48. */
const sbn_format sbn_forward_narrow = {
    .low1 = 64,
    .bits1 = 96,
    .low2 = 80,
    .bits2 = 128,
    .limit_pivot = 18,
    .limit_sum = 28,
    .limit_second = 47,
    .clear = -24,
};

/* Gradients are smaller: everything below 2^32, down to 2^-96. */
const sbn_format sbn_backward_narrow = {
    .low1 = 96,
    .bits1 = 128,
    .low2 = 96,
    .bits2 = 128,
    .limit_pivot = 20,
    .limit_sum = 31,
    .limit_second = 31,
    .clear = -56,
};

/* Every float: sums below 2^160, products below 2^288, both down to 2^-160. */
const sbn_format sbn_wide = {
    .low1 = 160,
    .bits1 = 320,
    .low2 = 160,
    .bits2 = 448,
    .clear = -148,
    .wide = 1,
};

const sbn_format *sbn__forward_format(int format)
{
    return format == SBN_WIDE ? &sbn_wide : &sbn_forward_narrow;
}

const sbn_format *sbn__backward_format(int format)
{
    return format == SBN_WIDE ? &sbn_wide : &sbn_backward_narrow;
}

static int limbs_of(int bits)
{
    return (bits + SBN_LIMB_BITS - 1) / SBN_LIMB_BITS;
}

int sbn__limbs1(const sbn_format *format)
{
    return limbs_of(format->bits1 + 32);
}

int sbn__limbs2(const sbn_format *format)
{
    return limbs_of(format->bits2 + 32);
}

size_t sbn__accumulator_length(const sbn_format *format)
{
    return (size_t)(sbn__limbs1(format) + sbn__limbs2(format) + 1);
}

int sbn__summation_macros(char *out, size_t size)
{
    return snprintf(out, size,
                    "-D BLOCK=%d -D BLOCK_RECIPROCAL=%af -D LOG2_LANES=%d -D LANES=%d "
                    "-D LANES_RECIPROCAL=%af -D LIMB_BITS=%d -D FLAG_PLUS_INF=%d "
                    "-D FLAG_MINUS_INF=%d -D FLAG_OVERFLOW=%d -D FLAG_CLEAR=%d -D FLAG_FAINT=%d ",
                    SBN_BLOCK, 1.0 / SBN_BLOCK, SBN_LOG2_LANES, SBN_LANES, 1.0 / SBN_LANES,
                    SBN_LIMB_BITS, SBN_FLAG_PLUS_INF, SBN_FLAG_MINUS_INF, SBN_FLAG_OVERFLOW,
                    SBN_FLAG_CLEAR, SBN_FLAG_FAINT);
}

static const char *limit(char *out, size_t size, const sbn_format *format, int exponent)
{
    if (format->wide)
        return "INFINITY";
    snprintf(out, size, "0x1p%df", exponent);
    return out;
}

/* TERM_LIMBS: those that a term can reach; the limbs above them are only carried into. */
int sbn__format_macros(const sbn_format *format, char *out, size_t size)
{
    char pivot[16], sum[16], second[16];
    return snprintf(out, size,
                    "-D PASS_LOW1=%d -D PASS_TERM_LIMBS1=%d -D PASS_LIMBS1=%d "
                    "-D PASS_LOW2=%d -D PASS_TERM_LIMBS2=%d -D PASS_LIMBS2=%d "
                    "-D PASS_LIMIT_PIVOT=%s -D PASS_LIMIT_SUM=%s -D PASS_LIMIT_SECOND=%s "
                    "-D PASS_CLEAR=0x1p%df ",
                    format->low1, limbs_of(format->bits1), sbn__limbs1(format), format->low2,
                    limbs_of(format->bits2), sbn__limbs2(format),
                    limit(pivot, sizeof pivot, format, format->limit_pivot),
                    limit(sum, sizeof sum, format, format->limit_sum),
                    limit(second, sizeof second, format, format->limit_second), format->clear);
}
