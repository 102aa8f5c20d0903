/* Arithmetic of sizes, for the plans of both forms. */
#pragma once

#include <stddef.h>

static inline size_t sbn__ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static inline size_t sbn__round_up(size_t a, size_t step)
{
    return sbn__ceil_div(a, step) * step;
}

static inline size_t sbn__at_least(size_t a, size_t limit)
{
    return a > limit ? a : limit;
}

static inline size_t sbn__at_most(size_t a, size_t limit)
{
    return a < limit ? a : limit;
}
