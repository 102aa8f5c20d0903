/*
 * Random numbers by position instead of by sequence: the value at a place
 * depends on the seed and the place alone, so a batch is the same whichever
 * part of it is made first. The finaliser is splitmix64's (Steele, Lea &
 * Flood 2014). Integers only: the same on every machine.
 */
#pragma once

#include <stdint.h>

static inline uint64_t mix(uint64_t key, uint64_t place)
{
    uint64_t z = key + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [-1, 1), with 24 bits. */
static inline float mix_uniform(uint64_t bits)
{
    return (float)((int32_t)(bits >> 39) - (1 << 24)) * (1.0f / (1 << 24));
}

/* Nearly normal, variance 1: the sum of four uniform 16-bit numbers, centred. */
static inline float mix_normal(uint64_t bits)
{
    int32_t sum = (int32_t)(bits & 0xffff) + (int32_t)(bits >> 16 & 0xffff) +
                  (int32_t)(bits >> 32 & 0xffff) + (int32_t)(bits >> 48);
    return (float)(sum - 2 * 0xffff) * (1.7320508f / 65536);
}
