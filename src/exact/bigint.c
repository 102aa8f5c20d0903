#include "exact/bigint.h"

#include <math.h>
#include <string.h>

static void trim(sbn_bigint *a)
{
    while (a->length > 0 && a->limb[a->length - 1] == 0)
        --a->length;
}

/* Two's complement of the first `count` limbs. */
static void negate_limbs(uint32_t *limb, int count)
{
    uint64_t carry = 1;
    for (int i = 0; i < count; ++i) {
        carry += (uint32_t)~limb[i];
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

void sbn__bigint_from_limbs(sbn_bigint *result, const int64_t *limbs, int count, int bits)
{
    memset(result->limb, 0, sizeof result->limb);
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    int64_t carry = 0;
    int place = 0;
    for (int k = 0; k < count; ++k, place += bits) {
        /* Limbs that other ranks have spoilt wrap around. */
        carry = (int64_t)((uint64_t)carry + (uint64_t)limbs[k]);
        /* bits is a multiple of 16, so a limb of up to 48 reaches at most two limbs. */
        const uint64_t part = ((uint64_t)carry & mask) << (place % 32);
        result->limb[place / 32] |= (uint32_t)part;
        result->limb[place / 32 + 1] = (uint32_t)(part >> 32);
        carry >>= bits;
    }
    /* The remaining carry has 64 - bits bits, its sign among them: what is left of one limb. */
    const int top = place / 32;
    result->limb[top] |= (uint32_t)((uint64_t)carry << place % 32);
    result->length = top + 1;
    result->negative = carry < 0;
    if (result->negative)
        negate_limbs(result->limb, result->length);
    trim(result);
}

void sbn__bigint_from_uint64(sbn_bigint *result, uint64_t value, int shift)
{
    int64_t limbs[SBN_BIGINT_LIMBS - 1] = {0};
    const int lowest = shift / 32;
    limbs[lowest] = (int64_t)((value & UINT32_MAX) << shift % 32);
    limbs[lowest + 1] = (int64_t)(value >> 32 << shift % 32);
    sbn__bigint_from_limbs(result, limbs, lowest + 2, 32);
}

void sbn__bigint_multiply(sbn_bigint *result, const sbn_bigint *a, const sbn_bigint *b)
{
    memset(result->limb, 0, sizeof result->limb);
    for (int i = 0; i < a->length; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < b->length; ++j) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + result->limb[i + j];
            result->limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        result->limb[i + b->length] = (uint32_t)carry;
    }
    result->length = a->length + b->length;
    result->negative = a->negative ^ b->negative;
    trim(result);
}

/* The highest limb is left to the sign: no operand is as long. */
void sbn__bigint_subtract(sbn_bigint *result, const sbn_bigint *a, const sbn_bigint *b)
{
    int64_t limbs[SBN_BIGINT_LIMBS - 1];
    for (int i = 0; i < SBN_BIGINT_LIMBS - 1; ++i)
        limbs[i] = (int64_t)a->limb[i] - b->limb[i];
    sbn__bigint_from_limbs(result, limbs, SBN_BIGINT_LIMBS - 1, 32);
}

double sbn__bigint_to_double(const sbn_bigint *value, int exponent)
{
    if (value->length == 0)
        return 0.0;
    /* The top 64 bits; a 1 in the lowest stands for anything below them. */
    const int top = value->length - 1;
    int shift = 0;
    while (!(value->limb[top] >> (31 - shift)))
        ++shift;
    const uint64_t next = top >= 2 ? (uint64_t)value->limb[top - 2] << shift : 0;
    uint64_t head = (uint64_t)value->limb[top] << 32 | (top >= 1 ? value->limb[top - 1] : 0);
    head = head << shift | next >> 32;
    uint32_t rest = (uint32_t)next;
    for (int i = 0; i < top - 2; ++i)
        rest |= value->limb[i];
    head |= rest != 0;
    const double magnitude = ldexp((double)head, exponent + 32 * (top - 1) - shift);
    return value->negative ? -magnitude : magnitude;
}
