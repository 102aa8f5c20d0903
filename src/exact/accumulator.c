#include "exact/accumulator.h"

/* Flags are counted over at most 4095 ranks. */
#define COUNT_BITS 12
#define COUNT_MASK ((INT64_C(1) << COUNT_BITS) - 1)

#define DIGIT_MASK ((INT64_C(1) << SBN_DIGIT_BITS) - 1)

sbn_accumulators sbn__accumulators_at(const int64_t *at, const sbn_format *format)
{
    return (sbn_accumulators){at, format, sbn__digits1(format), sbn__digits2(format),
                              sbn__format_words(format)};
}

static inline void carry(int64_t *digits, int count)
{
    for (int k = 0; k + 1 < count; ++k) {
        digits[k + 1] += digits[k] >> SBN_DIGIT_BITS;
        digits[k] &= DIGIT_MASK;
    }
}

void sbn__accumulators_add(const int64_t *from, const sbn_format *format, size_t channels,
                           int64_t *sums)
{
    const sbn_accumulators words = sbn__accumulators_at(sums, format);
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

void sbn__accumulators_seal(int64_t *words, const sbn_format *format, size_t channels)
{
    const sbn_accumulators form = sbn__accumulators_at(words, format);
    for (size_t c = 0; c < channels; ++c, words += form.per_channel) {
        carry(words, form.digits1);
        carry(words + form.digits1, form.digits2);
        words[form.per_channel - 1] = counts_of(words[form.per_channel - 1]);
    }
}

void sbn__accumulators_open(int64_t *words, const sbn_format *format, size_t channels)
{
    const size_t per_channel = sbn__format_words(format);
    for (size_t c = 0; c < channels; ++c, words += per_channel)
        words[per_channel - 1] = flags_of(words[per_channel - 1]);
}
