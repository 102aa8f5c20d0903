#include "exact/accumulator.h"

#include <string.h>

/* Flags are counted over at most 4095 ranks. */
#define COUNT_BITS 12
#define COUNT_MASK ((INT64_C(1) << COUNT_BITS) - 1)

size_t sbn__accumulator_length(const sbn_format *format)
{
    return (size_t)(format->limbs1 + format->limbs2 + 1);
}

size_t sbn__wide_limbs(void)
{
    return sbn__accumulator_length(&sbn_wide) - 1;
}

const int64_t *sbn__accumulator_limbs(const sbn_accumulators *accumulators, size_t c)
{
    return accumulators->at + c * sbn__accumulator_length(accumulators->format);
}

int64_t sbn__accumulator_flags(const sbn_accumulators *accumulators, size_t c)
{
    return accumulators->at[(c + 1) * sbn__accumulator_length(accumulators->format) - 1];
}

/* Adds the limbs of one sum, and carries. */
static inline void add_limbs(const int64_t *from, int count, int bits, int64_t *sums)
{
    const int64_t mask = (INT64_C(1) << bits) - 1;
    int64_t carry = 0;
    for (int k = 0; k + 1 < count; ++k) {
        const int64_t limb = sums[k] + from[k] + carry;
        sums[k] = limb & mask;
        carry = limb >> bits;
    }
    sums[count - 1] += from[count - 1] + carry;
}

static inline void add_channels(const int64_t *from, size_t channels, int limbs1, int limbs2,
                                int bits, int64_t *sums)
{
    const int length = limbs1 + limbs2 + 1;
    for (size_t c = 0; c < channels; ++c, from += length, sums += length) {
        add_limbs(from, limbs1, bits, sums);
        add_limbs(from + limbs1, limbs2, bits, sums + limbs1);
        sums[length - 1] |= from[length - 1];
    }
}

void sbn__accumulators_add(const int64_t *from, const sbn_format *format, size_t channels,
                           int64_t *sums)
{
    /* The narrow formats, as constants: the loops over limbs are unrolled. */
    if (format == &sbn_forward_narrow)
        add_channels(from, channels, 3, 4, SBN_LIMB_BITS, sums);
    else if (format == &sbn_backward_narrow)
        add_channels(from, channels, 4, 4, SBN_LIMB_BITS, sums);
    else
        add_channels(from, channels, format->limbs1, format->limbs2, format->limb_bits, sums);
}

/* Adds limbs of a narrow sum to those of a wide one, whose lowest is worth 2^-up of the other's. */
static void widen_limbs(const int64_t *from, int count, int up, int64_t *wide)
{
    for (int k = 0; k < count; ++k) {
        const int place = SBN_LIMB_BITS * k + up;
        const int at = place / SBN_WIDE_LIMB_BITS, shift = place % SBN_WIDE_LIMB_BITS;
        wide[at] += (int64_t)((uint64_t)from[k] << shift & UINT32_MAX);
        wide[at + 1] += from[k] >> (SBN_WIDE_LIMB_BITS - shift);
    }
}

void sbn__accumulators_widen(const sbn_accumulators *narrow, size_t channels,
                             const unsigned char *only, const int64_t *limbs, int64_t *wide)
{
    const sbn_format *format = narrow->format;
    const size_t length = sbn__wide_limbs();
    for (size_t c = 0; c < channels; ++c, limbs += length) {
        if (!only[c])
            continue;
        const int64_t *from = sbn__accumulator_limbs(narrow, c);
        memcpy(wide, limbs, sizeof *wide * length);
        widen_limbs(from, format->limbs1, sbn_wide.low1 - format->low1, wide);
        widen_limbs(from + format->limbs1, format->limbs2, sbn_wide.low2 - format->low2,
                    wide + sbn_wide.limbs1);
        wide[length] = sbn__accumulator_flags(narrow, c);
        wide += length + 1;
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

/* Mostly there are no flags. */
void sbn__accumulators_convert(int64_t *accumulators, const sbn_format *format, size_t channels,
                               int to_counts)
{
    const size_t per_channel = sbn__accumulator_length(format);
    int64_t *flags = accumulators + per_channel - 1;
    for (size_t c = 0; c < channels; ++c, flags += per_channel)
        if (*flags)
            *flags = to_counts ? count_flags(*flags) : counted_flags(*flags);
}
