#include "parallel/average.h"

#include <math.h>
#include <string.h>

#include "base/float_bits.h"

/* Bits of magnitudes compare as the magnitudes do; from this value on they are not finite. */
#define INFINITE_BITS 0x7f800000u

static uint32_t magnitude_bits(float value)
{
    return sbn__float_bits(value) & 0x7fffffffu;
}

void sbn__range_include(sbn_range *range, const float *values, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; ++i) {
        const uint32_t bits = magnitude_bits(values[i]);
        largest = bits > largest ? bits : largest;
    }
    if (largest >= INFINITE_BITS) {
        range->special = 1;
        largest = 0;
        for (size_t i = 0; i < count; ++i) {
            const uint32_t bits = magnitude_bits(values[i]);
            largest = bits > largest && bits < INFINITE_BITS ? bits : largest;
        }
    }
    const int level = (int)(largest >> 23) / 8;
    range->level = level > range->level ? level : range->level;
}

enum { COUNT_BITS = 12, COUNTS_PER_WORD = 5, SPECIAL = SBN_AVERAGE_LEVELS };

static void count_one(int64_t *words, int which)
{
    words[which / COUNTS_PER_WORD] += (int64_t)1 << which % COUNTS_PER_WORD * COUNT_BITS;
}

static int is_counted(const int64_t *words, int which)
{
    const int64_t mask = ((int64_t)1 << COUNT_BITS) - 1;
    return (words[which / COUNTS_PER_WORD] >> which % COUNTS_PER_WORD * COUNT_BITS & mask) != 0;
}

void sbn__range_put(sbn_range range, int64_t *words)
{
    count_one(words, range.level);
    if (range.special)
        count_one(words, SPECIAL);
}

sbn_range sbn__range_get(const int64_t *words)
{
    sbn_range range = {SBN_AVERAGE_LEVELS - 1, is_counted(words, SPECIAL)};
    while (range.level > 0 && !is_counted(words, range.level))
        --range.level;
    return range;
}

/* The layout of a word. In blocks with NaN or Inf, two counts lie above the sum: of +Inf or NaN, and of -Inf or NaN. */
typedef struct fields {
    double scale;   /* an element's integer is its product with this, rounded */
    int sum_bits;   /* of the sum with its sign, in blocks with NaN or Inf */
    int count_bits; /* of each count there */
} fields;

/* The least k with 2^k >= n. */
static int ceil_log2(size_t n)
{
    int k = 0;
    while (((size_t)1 << k) < n)
        ++k;
    return k;
}

static fields fields_of(sbn_range range, size_t replicas)
{
    enum { MOST_BITS = 50, BIAS = 127 };
    const int growth = ceil_log2(replicas);
    fields f = {.count_bits = ceil_log2(replicas + 1)};
    const int room = range.special ? 61 - 2 * f.count_bits - growth : 62 - growth;
    const int bits = room < MOST_BITS ? room : MOST_BITS;
    /* The exponent above all finite magnitudes of the level. */
    const int above = 8 * range.level + 8 - BIAS;
    f.scale = ldexp(1.0, bits - above);
    f.sum_bits = bits + growth + 2;
    return f;
}

/* Rounds to an integer, ties to even: below 2^51 the last place of the sum is 1. */
static int64_t to_integer(double value)
{
    const double magic = 0x1.8p52, sum = value + magic;
    int64_t bits, magic_bits;
    memcpy(&bits, &sum, sizeof bits);
    memcpy(&magic_bits, &magic, sizeof magic_bits);
    return bits - magic_bits;
}

static int64_t special_term(const fields *f, float value)
{
    if (isfinite(value))
        return to_integer((double)value * f->scale);
    const int64_t up = value > 0.0f || isnan(value), down = value < 0.0f || isnan(value);
    return (up << f->sum_bits) + (down << (f->sum_bits + f->count_bits));
}

void sbn__fixed_add(sbn_range range, size_t replicas, const float *values, size_t count,
                    int64_t *sums)
{
    const fields f = fields_of(range, replicas);
    if (range.special) {
        for (size_t i = 0; i < count; ++i)
            sums[i] += special_term(&f, values[i]);
        return;
    }
    for (size_t i = 0; i < count; ++i)
        sums[i] += to_integer((double)values[i] * f.scale);
}

static float special_mean(const fields *f, size_t replicas, int64_t sum)
{
    const int64_t half = (int64_t)1 << (f->sum_bits - 1);
    const int64_t mask = ((int64_t)1 << f->count_bits) - 1;
    const int64_t counts = (sum + half) >> f->sum_bits;
    const int up = (counts & mask) != 0, down = (counts >> f->count_bits & mask) != 0;
    if (up || down)
        return up && down ? NAN : up ? INFINITY : -INFINITY;
    return (float)((double)sum / (double)replicas / f->scale);
}

void sbn__fixed_mean(sbn_range range, size_t replicas, const int64_t *sums, size_t count,
                     float *means)
{
    const fields f = fields_of(range, replicas);
    if (range.special) {
        for (size_t i = 0; i < count; ++i)
            means[i] = special_mean(&f, replicas, sums[i]);
        return;
    }
    /* Exact: a division by a power of two equals a product with its inverse. */
    const double divisor = (double)replicas, scale = 1.0 / f.scale;
    for (size_t i = 0; i < count; ++i)
        means[i] = (float)((double)sums[i] / divisor * scale);
}
