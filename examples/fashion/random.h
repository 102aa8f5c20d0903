/*
 * The one source of chance: SplitMix64 (Steele, Lea & Flood 2014), integers
 * only, so that a seed means the same start and batches on every machine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [-1, 1). */
static inline float random_float(uint64_t *state)
{
    return (float)(random_next(state) >> 40) * 0x1p-23f - 1.0f;
}

/* Below `bound`; the bias of 2^-40 or so does not matter here. */
static inline size_t random_below(uint64_t *state, size_t bound)
{
    return (size_t)(random_next(state) % bound);
}
