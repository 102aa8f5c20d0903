/*
 * The mean of floats over replicas, computed with integers, so that the result does not depend on
 * order and grouping. No OpenCL, no transport.
 *
 * A block of SBN_AVERAGE_BLOCK elements has a range: a level, which is a power of two, in steps of
 * 2^8, above the finite magnitudes of all replicas, and whether any element is NaN or Inf. Each
 * rank adds a count for its range, and the highest range with a count is the group's. An element is
 * converted to an integer with as many bits below that power as leave room for the sum.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    SBN_AVERAGE_BLOCK = 1024,
    SBN_AVERAGE_LEVELS = 32,
    SBN_RANGE_WORDS = 7 /* 33 counts of 12 bits, five in a word */
};

typedef struct sbn_range {
    int level;   /* 0: of the smallest magnitudes, or empty */
    int special; /* NaN or Inf is among them */
} sbn_range;

/* Extends the range by the elements of a replica. */
void sbn__range_include(sbn_range *range, const float *values, size_t count);

/* Adds a rank's range to zeroed words; reads the group's range from the sums of all ranks. */
void sbn__range_put(sbn_range range, int64_t *words);
sbn_range sbn__range_get(const int64_t *words);

/* Adds a replica's elements to the block's sums, one word for each. */
void sbn__fixed_add(sbn_range range, size_t replicas, const float *values, size_t count,
                    int64_t *sums);

/* Computes the means from the sums over all replicas. */
void sbn__fixed_mean(sbn_range range, size_t replicas, const int64_t *sums, size_t count,
                     float *means);
