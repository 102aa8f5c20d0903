#include "safetensors/half.h"

#include <math.h>

#include "base/float_bits.h"

float sbn__float_of_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    if (exponent == 31)
        return sbn__float_of_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) {
        const float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    return sbn__float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

float sbn__float_of_bfloat(uint16_t bits)
{
    return sbn__float_of_bits((uint32_t)bits << 16);
}

uint16_t sbn__half_of_float(float value)
{
    const uint16_t sign = sbn__float_bits(value) >> 16 & 0x8000;
    const float size = fabsf(value);
    if (isnan(value))
        return sign | 0x7e00 | (sbn__float_bits(value) >> 13 & 0x3ff);
    /* Half of the unit in the last place beyond the largest, 65504, rounds up. */
    if (size >= 65520.0f)
        return sign | 0x7c00;
    /* Below the least normal number the unit is 2^-24; the product and nearbyint are exact. */
    if (size < 0x1p-14f)
        return sign | (uint16_t)lrintf(size * 0x1p24f);
    const uint32_t bits = sbn__float_bits(size), kept = bits >> 13;
    const uint32_t rest = bits & 0x1fff, up = rest > 0x1000 || (rest == 0x1000 && kept & 1);
    return sign | (uint16_t)(kept + up - (112u << 10));
}

uint16_t sbn__bfloat_of_float(float value)
{
    const uint32_t bits = sbn__float_bits(value), kept = bits >> 16, rest = bits & 0xffff;
    if (isnan(value))
        return (uint16_t)(kept | 0x40);
    return (uint16_t)(kept + (rest > 0x8000 || (rest == 0x8000 && kept & 1)));
}
