#include "exact/format.h"

#include <stdio.h>

/* 256 p < 2^26, 256 p^2 < 2^44, 2 p A < 2^47, all below 2^48. */
const sbn_format sbn_forward_narrow = {
    .low1 = 64,
    .limbs1 = 3,
    .low2 = 80,
    .limbs2 = 4,
    .limit_pivot = 18,
    .limit_sum = 28,
    .limit_second = 47,
    .clear = -24,
    .thin_eps = 0x1p-48,
    .limb_bits = SBN_LIMB_BITS,
};

/* Gradients are smaller: everything below 2^32, down to 2^-96. */
const sbn_format sbn_backward_narrow = {
    .low1 = 96,
    .limbs1 = 4,
    .low2 = 96,
    .limbs2 = 4,
    .limit_pivot = 20,
    .limit_sum = 31,
    .limit_second = 31,
    .clear = -56,
    .thin_eps = 0x1p-24,
    .limb_bits = SBN_LIMB_BITS,
};

/*
 * Every float: n p below 2^137 and n p^2 below 2^265, in the highest limbs, which hold 63 bits;
 * sums down to the lowest float, products to 2^-160.
 */
const sbn_format sbn_wide = {
    .low1 = 149,
    .limbs1 = 9,
    .low2 = 160,
    .limbs2 = 14,
    .limb_bits = SBN_WIDE_LIMB_BITS,
};

void sbn__summation_macros(char *out, size_t size)
{
    snprintf(out, size,
             "-D BLOCK=%d -D BLOCK_RECIPROCAL=%af -D LOG2_LANES=%d -D LANES=%d "
             "-D LANES_RECIPROCAL=%af -D LIMB_BITS=%d -D FLAG_PLUS_INF=%d "
             "-D FLAG_MINUS_INF=%d -D FLAG_OVERFLOW=%d -D FLAG_WIDE=%d -D WIDE_BITS=%d "
             "-D WIDE_LOW1=%d -D WIDE_LIMBS1=%d -D WIDE_LOW2=%d -D WIDE_LIMBS2=%d ",
             SBN_BLOCK, 1.0 / SBN_BLOCK, SBN_LOG2_LANES, SBN_LANES, 1.0 / SBN_LANES, SBN_LIMB_BITS,
             SBN_FLAG_PLUS_INF, SBN_FLAG_MINUS_INF, SBN_FLAG_OVERFLOW, SBN_FLAG_WIDE,
             SBN_WIDE_LIMB_BITS, sbn_wide.low1, sbn_wide.limbs1, sbn_wide.low2, sbn_wide.limbs2);
}

/* TERM_LIMBS: those that a term can reach; the limbs above them are only carried into. */
void sbn__format_macros(const sbn_format *format, char *out, size_t size)
{
    snprintf(out, size,
             "-D PASS_LOW1=%d -D PASS_TERM_LIMBS1=%d -D PASS_LIMBS1=%d "
             "-D PASS_LOW2=%d -D PASS_TERM_LIMBS2=%d -D PASS_LIMBS2=%d "
             "-D PASS_LIMIT_PIVOT=0x1p%df -D PASS_LIMIT_SUM=0x1p%df "
             "-D PASS_LIMIT_SECOND=0x1p%df -D PASS_CLEAR=0x1p%df ",
             format->low1, format->limbs1 - 1, format->limbs1, format->low2, format->limbs2 - 1,
             format->limbs2, format->limit_pivot, format->limit_sum, format->limit_second,
             format->clear);
}
