/* The bits of a float, and back. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t sbn__float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float sbn__float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
