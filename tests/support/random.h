/* Bits that look random, the same in each run of a program. */
#pragma once

#include "check/mix.h"

static inline uint64_t next(void)
{
    static uint64_t place;
    return mix(1, place++);
}
