/*
 * A channel's accumulator: the first sum's limbs, the second sum's limbs, then flags, each an int64. Limbs are
 * signed, and may exceed SBN_LIMB_BITS where slices of a tensor have been added.
 *
 * Added over replicas and ranks, accumulators are the whole group's; every rank computes the same results from them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "exact/format.h"

/* The accumulators of all channels, one after the other. */
typedef struct sbn_accumulators {
    const int64_t *at;
    const sbn_format *format;
} sbn_accumulators;

/* The int64s of a channel's accumulator: the limbs of both sums and the flags. */
size_t sbn__accumulator_length(const sbn_format *format);

/* Those of a wide accumulator on a device, which has no flags there. */
size_t sbn__wide_limbs(void);

/* A channel's limbs, of both sums, and its flags: a set of bits. */
const int64_t *sbn__accumulator_limbs(const sbn_accumulators *accumulators, size_t c);
int64_t sbn__accumulator_flags(const sbn_accumulators *accumulators, size_t c);

/*
 * Adds one replica's accumulators to `sums`, flags by or, and carries: each limb of `sums` but a
 * sum's highest is below 2^limb_bits, so that the limbs of 4095 ranks add up within an int64.
 */
void sbn__accumulators_add(const int64_t *from, const sbn_format *format, size_t channels,
                           int64_t *sums);

/*
 * Writes the accumulators, one after the other, of the channels that `only` selects: the narrow
 * ones and the limbs of wide ones, as a device has them for all channels, added up.
 */
void sbn__accumulators_widen(const sbn_accumulators *narrow, size_t channels,
                             const unsigned char *only, const int64_t *limbs, int64_t *wide);

/*
 * Replaces the flags of accumulators by a count of 12 bits for each flag, which an all-reduce adds; or, not to_counts,
 * such counts by the flags that any rank has.
 */
void sbn__accumulators_convert(int64_t *accumulators, const sbn_format *format, size_t channels,
                               int to_counts);
