/*
 * Big integers: the value of a channel's fixed-point sum, and the arithmetic that mean and variance
 * need on it. All operations are exact; only sbn__bigint_to_double rounds, once.
 */
#pragma once

#include <stdint.h>

/* The largest is the square of a wide first sum, 2 x (9 x 32 + 64) bits, and its neighbours. */
#define SBN_BIGINT_LIMBS 32

typedef struct sbn_bigint {
    uint32_t limb[SBN_BIGINT_LIMBS]; /* magnitude, least significant first; behind `length`: 0 */
    int length;                      /* limbs in use; the highest is not zero */
    int negative;
} sbn_bigint;

/* sum of limbs[k] 2^(bits k): limbs are signed and may exceed their bits. bits: 32 or 48. */
void sbn__bigint_from_limbs(sbn_bigint *result, const int64_t *limbs, int count, int bits);

/* value 2^shift */
void sbn__bigint_from_uint64(sbn_bigint *result, uint64_t value, int shift);

/* result must not be an operand. */
void sbn__bigint_multiply(sbn_bigint *result, const sbn_bigint *a, const sbn_bigint *b);

/* a - b for a, b >= 0. */
void sbn__bigint_subtract(sbn_bigint *result, const sbn_bigint *a, const sbn_bigint *b);

/* value 2^exponent, rounded once to nearest, ties to even. */
double sbn__bigint_to_double(const sbn_bigint *value, int exponent);
