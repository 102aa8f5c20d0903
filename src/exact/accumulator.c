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

/* Adds the limbs of one sum, and carries. */
static inline void add_limbs(const int64_t *from, int count, int64_t *sums)
{
    int64_t carry = 0;
    for (int k = 0; k + 1 < count; ++k) {
        const int64_t limb = sums[k] + from[k] + carry;
        sums[k] = limb & LIMB_MASK;
        carry = limb >> SBN_LIMB_BITS;
    }
    sums[count - 1] += from[count - 1] + carry;
}

static inline void add_channels(const int64_t *from, size_t channels, int limbs1, int limbs2,
                                int64_t *sums)
{
    const int length = limbs1 + limbs2 + 1;
    for (size_t c = 0; c < channels; ++c, from += length, sums += length) {
        add_limbs(from, limbs1, sums);
        add_limbs(from + limbs1, limbs2, sums + limbs1);
        sums[length - 1] |= from[length - 1];
    }
}

void sbn__accumulators_add(const int64_t *from, const sbn_format *format, size_t channels,
                           int64_t *sums)
{
    const sbn_accumulators form = sbn__accumulators_at(sums, format);
    /* The narrow formats, as constants: the loops over limbs are unrolled. */
    if (form.limbs1 == 3 && form.limbs2 == 4)
        add_channels(from, channels, 3, 4, sums);
    else if (form.limbs1 == 4 && form.limbs2 == 4)
        add_channels(from, channels, 4, 4, sums);
    else
        add_channels(from, channels, form.limbs1, form.limbs2, sums);
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

/* Neighbouring channels mostly have the same flags, so that `convert` is rarely needed. */
static inline void convert_flags(int64_t *accumulators, const sbn_format *format, size_t channels,
                                 int64_t (*convert)(int64_t))
{
    const size_t per_channel = sbn__accumulator_length(format);
    int64_t *flags = accumulators + per_channel - 1, from = 0, to = 0;
    for (size_t c = 0; c < channels; ++c, flags += per_channel) {
        if (*flags != from) {
            from = *flags;
            to = convert(from);
        }
        *flags = to;
    }
}

void sbn__accumulators_encode(int64_t *accumulators, const sbn_format *format, size_t channels)
{
    convert_flags(accumulators, format, channels, count_flags);
}

void sbn__accumulators_decode(int64_t *accumulators, const sbn_format *format, size_t channels)
{
    convert_flags(accumulators, format, channels, counted_flags);
}
