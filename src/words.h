/*
 * A channel's words: the first sum's digits, the second's, then flags, in one of two forms.
 *
 *   kernel  digits of 32 bits, as kernels leave them: signed, and larger than
 *           their bits where blocks have added up
 *   wire    digits of 48 bits, in which replicas are added and members' words sent
 *
 * Added over replicas and members they are the whole group's; every member
 * computes the same from them.
 */
#ifndef SBN_SRC_WORDS_H
#define SBN_SRC_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "window.h"

/* The words of all channels, one channel after the other, and their form. */
typedef struct sbn_words {
    const int64_t *at;
    const sbn_window *window;
    int bits, digits1, digits2;
    size_t per_channel;
} sbn_words;

sbn_words sbn_words_from_kernel(const int64_t *at, const sbn_window *window);
sbn_words sbn_words_on_wire(const int64_t *at, const sbn_window *window);

/* A channel's digits, and its flags: a set of bits. */
static inline const int64_t *sbn_words_of(const sbn_words *words, size_t c)
{
    return words->at + c * words->per_channel;
}

static inline int64_t sbn_flags_of(const sbn_words *words, size_t c)
{
    return words->at[(c + 1) * words->per_channel - 1];
}

/* Adds one replica's words, in the kernels' form, to `wire`; flags by or. */
void sbn_words_add(const sbn_words *words, size_t channels, int64_t *wire);

/*
 * Makes wire words fit to be added over members: carries, so that each digit but a sum's highest
 * is below 2^48 again and 4095 members' digits add up within an int64, and replaces each set of
 * flags by a count of 12 bits for each flag.
 */
void sbn_words_seal(int64_t *wire, const sbn_window *window, size_t channels);

/* Counts of flags become sets again: those that any member has. */
void sbn_words_open(int64_t *wire, const sbn_window *window, size_t channels);

#endif
