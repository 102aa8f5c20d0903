/*
 * A channel's words: the first sum's digits, the second's, then flags. Digits
 * are signed, and larger than their bits where slices have added up.
 *
 * Added over replicas and ranks they are the whole group's; every rank
 * computes the same from them.
 */
#ifndef SBN_EXACT_ACCUMULATOR_H
#define SBN_EXACT_ACCUMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include "exact/format.h"

/* The words of all channels, one channel after the other. */
typedef struct sbn_accumulators {
    const int64_t *at;
    const sbn_format *format;
    int digits1, digits2;
    size_t per_channel;
} sbn_accumulators;

sbn_accumulators sbn__accumulators_at(const int64_t *at, const sbn_format *format);

/* A channel's digits, and its flags: a set of bits. */
static inline const int64_t *sbn__accumulators_of(const sbn_accumulators *words, size_t c)
{
    return words->at + c * words->per_channel;
}

static inline int64_t sbn__flags_of(const sbn_accumulators *words, size_t c)
{
    return words->at[(c + 1) * words->per_channel - 1];
}

/* Adds one replica's words to `sums`, flags by or, and carries. */
void sbn__accumulators_add(const int64_t *from, const sbn_format *format, size_t channels,
                           int64_t *sums);

/*
 * Makes words fit to be added over ranks: carries, so that each digit but a sum's highest
 * is below 2^48 again and 4095 ranks' digits add up within an int64, and replaces each set of
 * flags by a count of 12 bits for each flag.
 */
void sbn__accumulators_seal(int64_t *words, const sbn_format *format, size_t channels);

/* Counts of flags become sets again: those that any rank has. */
void sbn__accumulators_open(int64_t *words, const sbn_format *format, size_t channels);

#endif
