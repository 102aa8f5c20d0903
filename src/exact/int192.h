/*
 * The sums of the narrow formats as integers of 192 bits in registers, where the compiler has
 * 128-bit integers. The results are those of src/exact/bigint.h, ten times as fast. A function
 * returns 0 where a number does not fit; the caller then uses big integers.
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "exact/format.h"

#ifdef __SIZEOF_INT128__

__extension__ typedef __int128 sbn_int128;
__extension__ typedef unsigned __int128 sbn_uint128;

typedef struct sbn_int192 {
    uint64_t low;
    sbn_int128 high; /* in units of 2^64 */
} sbn_int192;

/* limb 2^exponent */
static inline sbn_int128 sbn__int128_scale(int64_t limb, int exponent)
{
    return (sbn_int128)((sbn_uint128)(sbn_int128)limb << exponent);
}

/* The value of three or four limbs. */
static inline int sbn__int192_from_limbs(sbn_int192 *a, const int64_t *limbs, int count)
{
    const sbn_int128 two = limbs[0] + sbn__int128_scale(limbs[1], SBN_LIMB_BITS);
    a->low = (uint64_t)two;
    a->high = (two >> 64) + sbn__int128_scale(limbs[2], 2 * SBN_LIMB_BITS - 64);
    if (count == 3)
        return 1;
    /* The fourth lies 80 bits above the lowest 64, and leaves room for its sum with the others. */
    if (limbs[3] >> 45 != limbs[3] >> 63)
        return 0;
    a->high += sbn__int128_scale(limbs[3], 3 * SBN_LIMB_BITS - 64);
    return 1;
}

/* 2^exponent, far from the ends of a double's range. */
static inline double sbn__power_of_two(int exponent)
{
    const union {
        uint64_t bits;
        double value;
    } power = {(uint64_t)(exponent + 1023) << 52};
    return power.value;
}

/*
 * (high 2^64 + low, and `rest` far below) 2^exponent, rounded once to nearest, ties to even: 63 bits,
 * the lowest of them a 1 for anything below it.
 */
static inline double sbn__round_to_double(uint64_t high, uint64_t low, uint64_t rest, int exponent)
{
    const int shift = __builtin_clzll(high) - 1;
    uint64_t head;
    if (shift < 0) {
        head = high >> 1;
        low |= high & 1;
    } else {
        head = shift ? high << shift | low >> (64 - shift) : high;
        low = low << shift;
    }
    head |= (low | rest) != 0;
    return (double)(int64_t)head * sbn__power_of_two(exponent + 64 - shift);
}

/* A magnitude of four limbs, the least significant first. */
static inline double sbn__uint256_to_double(const uint64_t *limb, int exponent)
{
    if (limb[3])
        return sbn__round_to_double(limb[3], limb[2], limb[1] | limb[0], exponent + 128);
    if (limb[2])
        return sbn__round_to_double(limb[2], limb[1], limb[0], exponent + 64);
    if (limb[1])
        return sbn__round_to_double(limb[1], limb[0], 0, exponent);
    return limb[0] ? sbn__round_to_double(limb[0], 0, 0, exponent - 64) : 0.0;
}

/* value 2^exponent, rounded once. */
static inline double sbn__int192_to_double(sbn_int192 a, int exponent)
{
    /* Branch-free, because signs cannot be predicted. */
    const uint64_t sign = -(uint64_t)(a.high < 0);
    const uint64_t low = (a.low ^ sign) - sign;
    const sbn_uint128 high = ((sbn_uint128)a.high ^ ((sbn_uint128)sign << 64 | sign)) +
                             ((low == 0) & sign);
    const uint64_t limb[4] = {low, (uint64_t)high, (uint64_t)(high >> 64), 0};
    return copysign(sbn__uint256_to_double(limb, exponent), (double)(int64_t)sign);
}

/*
 * n^2 times the variance, (n squares 2^shift - sum^2) 2^exponent, rounded once; 0 where it is
 * negative. shift: 1 ... 63.
 */
static inline int sbn__int192_n2_variance(sbn_int192 sum, sbn_int192 squares, uint64_t n, int shift,
                                          int exponent, double *result)
{
    *result = 0.0;
    if (squares.high < 0)
        return 1;
    if (sum.high != (int64_t)sum.high)
        return 0;
    sbn_uint128 s = (sbn_uint128)sum.high << 64 | sum.low;
    if (sum.high < 0)
        s = 0 - s;
    const uint64_t s0 = (uint64_t)s, s1 = (uint64_t)(s >> 64);

    /* The four limbs of n squares. */
    const sbn_uint128 p0 = (sbn_uint128)squares.low * n;
    const sbn_uint128 p1 = (sbn_uint128)(uint64_t)squares.high * n + (uint64_t)(p0 >> 64);
    const sbn_uint128 p2 = (sbn_uint128)(uint64_t)(squares.high >> 64) * n + (uint64_t)(p1 >> 64);
    const uint64_t p[4] = {(uint64_t)p0, (uint64_t)p1, (uint64_t)p2, (uint64_t)(p2 >> 64)};
    if (p[3] >> (64 - shift))
        return 0;

    /* Those of sum^2, and the difference. */
    const sbn_uint128 q0 = (sbn_uint128)s0 * s0, cross = (sbn_uint128)s0 * s1;
    const sbn_uint128 q2 = (sbn_uint128)s1 * s1 + (cross >> 63);
    const sbn_uint128 q1 = (q0 >> 64) + (uint64_t)(cross << 1);
    const sbn_uint128 low = ((sbn_uint128)(p[1] << shift | p[0] >> (64 - shift)) << 64 |
                             p[0] << shift);
    const sbn_uint128 high = ((sbn_uint128)(p[3] << shift | p[2] >> (64 - shift)) << 64 |
                              (p[2] << shift | p[1] >> (64 - shift)));
    const sbn_uint128 square_low = q1 << 64 | (uint64_t)q0, square_high = q2 + (q1 >> 64);
    const sbn_uint128 rest_low = low - square_low;
    const sbn_uint128 rest_high = high - square_high - (low < square_low);
    if (high < square_high || (high == square_high && low < square_low))
        return 1;
    const uint64_t limb[4] = {(uint64_t)rest_low, (uint64_t)(rest_low >> 64), (uint64_t)rest_high,
                              (uint64_t)(rest_high >> 64)};
    *result = sbn__uint256_to_double(limb, exponent);
    return 1;
}

#endif
