/* What the kernels that combine read (tests/device/combine.c): accumulators of SOURCES replicas. */
#pragma once

#include "exact/statistics.h"

enum { CHANNELS = 1500, SOURCES = 4, MOST_SLICES = 3, MOST_LIMBS = 32 };

/* The accumulators of all sources, as the reductions leave them, and what they add up to. */
typedef struct sums {
    const sbn_format *format;
    size_t length;
    uint32_t slices[SOURCES];
    int64_t of[SOURCES][MOST_SLICES * CHANNELS * MOST_LIMBS], all[CHANNELS * MOST_LIMBS];
    /* Of the blocks that do not fit, and one number more. */
    int64_t wide_of[SOURCES][CHANNELS * MOST_LIMBS], all_wide[CHANNELS * MOST_LIMBS];
} sums;

/* Accumulators of all kinds in a format, others each time. */
void sums_fill(sums *s, const sbn_format *format);
