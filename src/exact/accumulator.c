#include "exact/accumulator.h"

/* Flags are counted over at most 4095 ranks. */
#define COUNT_BITS 12
#define COUNT_MASK ((INT64_C(1) << COUNT_BITS) - 1)

#define LIMB_MASK ((INT64_C(1) << SBN_LIMB_BITS) - 1)

sbn_accumulators sbn__accumulators_at(const int64_t *at, const sbn_format *format)
{
    return (sbn_accumulators){at, format, sbn__limbs1(format), sbn__limbs2(format),
                              sbn__accumulator_length(format)};
}

static inline void carry(int64_t *limbs, int count)
{
    for (int k = 0; k + 1 < count; ++k) {
        limbs[k + 1] += limbs[k] >> SBN_LIMB_BITS;
        limbs[k] &= LIMB_MASK;
    }
}

void sbn__accumulators_add(const int64_t *from, const sbn_format *format, size_t channels,
                           int64_t *sums)
{
    const sbn_accumulators form = sbn__accumulators_at(sums, format);
    const int limbs = form.limbs1 + form.limbs2;
    for (size_t c = 0; c < channels; ++c, from += form.per_channel, sums += form.per_channel) {
        for (int k = 0; k < limbs; ++k)
            sums[k] += from[k];
        sums[limbs] |= from[limbs];
        carry(sums, form.limbs1);
        carry(sums + form.limbs1, form.limbs2);
    }
}

/* Bit i moves to place 12 i. */
static inline int64_t count_flags(int64_t flags)
{
    int64_t counts = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        counts |= (flags & INT64_C(1) << i) << i * (COUNT_BITS - 1);
    return counts;
}

static inline int64_t counted_flags(int64_t counts)
{
    int64_t flags = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        flags |= (int64_t)((counts >> i * COUNT_BITS & COUNT_MASK) != 0) << i;
    return flags;
}

void sbn__accumulators_encode(int64_t *accumulators, const sbn_format *format, size_t channels)
{
    const sbn_accumulators form = sbn__accumulators_at(accumulators, format);
    int64_t *limbs = accumulators;
    for (size_t c = 0; c < channels; ++c, limbs += form.per_channel) {
        carry(limbs, form.limbs1);
        carry(limbs + form.limbs1, form.limbs2);
        limbs[form.per_channel - 1] = count_flags(limbs[form.per_channel - 1]);
    }
}

void sbn__accumulators_decode(int64_t *accumulators, const sbn_format *format, size_t channels)
{
    const size_t per_channel = sbn__accumulator_length(format);
    int64_t *flags = accumulators + per_channel - 1;
    for (size_t c = 0; c < channels; ++c, flags += per_channel)
        *flags = counted_flags(*flags);
}
