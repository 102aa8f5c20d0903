/*
 * Wide integers: what the fixed-point words of a channel are, and the little
 * arithmetic that mean and variance need on them. Exact throughout; rounding
 * happens once, in sbn__big_to_double.
 */
#ifndef SBN_EXACT_BIG_H
#define SBN_EXACT_BIG_H

#include <stdint.h>

/* The largest is the square of a wide first sum, 2 x (10 x 32 + 64) bits, and its neighbours. */
#define SBN_BIG_LIMBS 32

typedef struct sbn_big {
    uint32_t limb[SBN_BIG_LIMBS]; /* magnitude, least significant first */
    int length;                   /* limbs in use; the highest is not zero */
    int negative;
} sbn_big;

/* sum of digits[k] 2^(bits k): digits are signed and may exceed their bits. bits: 32 or 48. */
void sbn__big_from_digits(sbn_big *result, const int64_t *digits, int count, int bits);

/* result must not be an operand. */
void sbn__big_multiply(sbn_big *result, const sbn_big *a, const sbn_big *b);
void sbn__big_from_uint64(sbn_big *result, uint64_t value);
void sbn__big_shift_left(sbn_big *result, const sbn_big *a, int bits);

/* a - b for a, b >= 0. */
void sbn__big_subtract(sbn_big *result, const sbn_big *a, const sbn_big *b);

/* value 2^exponent, rounded once to nearest, ties to even. */
double sbn__big_to_double(const sbn_big *value, int exponent);

#endif
