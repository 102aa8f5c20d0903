/*
 * The mean of floats over replicas by integers, which add up alike in any order
 * and grouping. No OpenCL, no transport.
 *
 * A block of SBN_AVERAGE_BLOCK elements has a range: a level, the power of two that is
 * above all its finite magnitudes over all replicas, in steps of 2^8, and
 * whether any element is NaN or Inf. Ranks find the group's range by adding a
 * count for each of its values: the highest that is there. An element becomes an
 * integer of as many bits below that power as leave room for the sum.
 */
#ifndef SBN_SRC_PARALLEL_AVERAGE_H
#define SBN_SRC_PARALLEL_AVERAGE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SBN_AVERAGE_BLOCK = 1024,
    SBN_AVERAGE_LEVELS = 32,
    SBN_RANGE_WORDS = 7 /* 33 counts of 12 bits, five in a word */
};

typedef struct sbn_range {
    int level;   /* -1: nothing yet */
    int special; /* NaN or Inf is among them */
} sbn_range;

#define SBN_NO_RANGE \
    { \
        -1, 0 \
    }

/* Widens the range by the elements of a replica. */
void sbn__range_include(sbn_range *range, const float *values, size_t count);

/* A rank's range into zeroed words; the range of all ranks from their sums. */
void sbn__range_put(sbn_range range, int64_t *words);
sbn_range sbn__range_get(const int64_t *words);

/* Adds a replica's elements to the block's sums, a word for each. */
void sbn__fixed_add(sbn_range range, size_t replicas, const float *values, size_t count,
                    int64_t *sums);

/* From the sums over all replicas their means. */
void sbn__fixed_mean(sbn_range range, size_t replicas, const int64_t *sums, size_t count,
                     float *means);

#endif
