/*
 * What the kernels that combine read and write (tests/device/combine.c): accumulators of SOURCES
 * replicas, and tables of CHANNELS channels.
 */
#pragma once

#include "program/kernel_constants.h"
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

/* Everything that both passes write, of CHANNELS channels a row. */
typedef struct rows {
    float coefficients[SBN_COEFFICIENT_ROWS * CHANNELS], gradients[SBN_GRADIENT_ROWS * CHANNELS];
    float running[2 * CHANNELS];
    int64_t batches;
    double moments[SBN_MOMENT_ROWS * CHANNELS];
} rows;

/* What is there before a pass, with the moments that a backward pass reads. */
void rows_fill(rows *r);

/* What the host makes of the sums. is_own: the gradients are those of source 1 alone. */
void expect_forward(rows *r, const sums *s, uint64_t count, sbn_eps eps, double weight, int tracks);
void expect_backward(rows *r, const sums *s, uint64_t count, sbn_eps eps, int is_own);

/* Any two NaN are equal. */
int rows_equal(const rows *got, const rows *expected);
