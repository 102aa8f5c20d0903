#include "words.h"

/* Flags are counted over at most 4095 members. */
#define COUNT_BITS 12
#define COUNT_MASK ((INT64_C(1) << COUNT_BITS) - 1)

#define DIGIT_MASK ((INT64_C(1) << SBN_DIGIT_BITS) - 1)

sbn_words sbn_words_at(const int64_t *at, const sbn_window *window)
{
    return (sbn_words){at, window, sbn_digits1(window), sbn_digits2(window),
                       sbn_window_words(window)};
}

static inline void carry(int64_t *digits, int count)
{
    for (int k = 0; k + 1 < count; ++k) {
        digits[k + 1] += digits[k] >> SBN_DIGIT_BITS;
        digits[k] &= DIGIT_MASK;
    }
}

void sbn_words_add(const int64_t *from, const sbn_window *window, size_t channels, int64_t *sums)
{
    const sbn_words words = sbn_words_at(sums, window);
    const int digits = words.digits1 + words.digits2;
    for (size_t c = 0; c < channels; ++c, from += words.per_channel, sums += words.per_channel) {
        for (int k = 0; k < digits; ++k)
            sums[k] += from[k];
        sums[digits] |= from[digits];
        carry(sums, words.digits1);
        carry(sums + words.digits1, words.digits2);
    }
}

/* Bit i moves to place 12 i. */
static inline int64_t counts_of(int64_t flags)
{
    int64_t counts = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        counts |= (flags & INT64_C(1) << i) << i * (COUNT_BITS - 1);
    return counts;
}

static inline int64_t flags_of(int64_t counts)
{
    int64_t flags = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        flags |= (int64_t)((counts >> i * COUNT_BITS & COUNT_MASK) != 0) << i;
    return flags;
}

void sbn_words_seal(int64_t *words, const sbn_window *window, size_t channels)
{
    const sbn_words form = sbn_words_at(words, window);
    for (size_t c = 0; c < channels; ++c, words += form.per_channel) {
        carry(words, form.digits1);
        carry(words + form.digits1, form.digits2);
        words[form.per_channel - 1] = counts_of(words[form.per_channel - 1]);
    }
}

void sbn_words_open(int64_t *words, const sbn_window *window, size_t channels)
{
    const size_t per_channel = sbn_window_words(window);
    for (size_t c = 0; c < channels; ++c, words += per_channel)
        words[per_channel - 1] = flags_of(words[per_channel - 1]);
}
