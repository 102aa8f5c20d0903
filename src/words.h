/*
 * A channel's words: the first sum's digits, the second's, then flags. Digits
 * are signed, and larger than their bits where slices have added up.
 *
 * Added over replicas and members they are the whole group's; every member
 * computes the same from them.
 */
#ifndef SBN_SRC_WORDS_H
#define SBN_SRC_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "window.h"

/* The words of all channels, one channel after the other. */
typedef struct sbn_words {
    const int64_t *at;
    const sbn_window *window;
    int digits1, digits2;
    size_t per_channel;
} sbn_words;

sbn_words sbn_words_at(const int64_t *at, const sbn_window *window);

/* A channel's digits, and its flags: a set of bits. */
static inline const int64_t *sbn_words_of(const sbn_words *words, size_t c)
{
    return words->at + c * words->per_channel;
}

static inline int64_t sbn_flags_of(const sbn_words *words, size_t c)
{
    return words->at[(c + 1) * words->per_channel - 1];
}

/* Adds one replica's words to `sums`, flags by or, and carries. */
void sbn_words_add(const int64_t *from, const sbn_window *window, size_t channels, int64_t *sums);

/*
 * Makes words fit to be added over members: carries, so that each digit but a sum's highest
 * is below 2^48 again and 4095 members' digits add up within an int64, and replaces each set of
 * flags by a count of 12 bits for each flag.
 */
void sbn_words_seal(int64_t *words, const sbn_window *window, size_t channels);

/* Counts of flags become sets again: those that any member has. */
void sbn_words_open(int64_t *words, const sbn_window *window, size_t channels);

#endif
