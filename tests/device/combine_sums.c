#include <math.h>
#include <string.h>

#include "device/combine.h"
#include "support/random.h"

static double uniform(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

/* A term of `bits` bits at most, with a sign, to the limbs of a sum; above its top nothing. */
static void add_random(int64_t *limbs, int limb, int bits, int negative)
{
    const int top = 1 + (int)(next() % (uint64_t)bits);
    for (int k = 0; limb * k < top; ++k) {
        const int used = top - limb * k < limb ? top - limb * k : limb;
        int64_t digit = (int64_t)(next() & ((UINT64_C(1) << used) - 1));
        /* Runs of ones and zeros carry far. */
        if (next() % 4 == 0)
            digit = next() % 2 ? 0 : (INT64_C(1) << used) - 1;
        limbs[k] += negative ? -digit : digit;
    }
}

/* value, a multiple of 2^-low. */
static void add_value(int64_t *limbs, int count, int bits, int low, double value)
{
    double rest = fabs(value);
    for (int k = count; k-- > 0;) {
        const double unit = ldexp(1.0, bits * k - low), limb = floor(rest / unit);
        rest -= limb * unit;
        limbs[k] += (int64_t)(value < 0.0 ? -limb : limb);
    }
}

/* The sums of values of this size, some of which nearly cancel in the variance. */
static void add_values(int64_t *accumulator, const sbn_format *f, double scale)
{
    const double mean = scale * (uniform() - 0.5) * (double)(next() % 3);
    for (int i = 0; i < 5; ++i) {
        const float x = (float)(mean + scale * 0x1p-10 * (uniform() - 0.5));
        add_value(accumulator, f->limbs1, f->limb_bits, f->low1, x);
        add_value(accumulator + f->limbs1, f->limbs2, f->limb_bits, f->low2, (double)x * x);
    }
}

static void add_bit(int64_t *limbs, int limb, int bit)
{
    limbs[bit / limb] += INT64_C(1) << bit % limb;
}

/* A sum whose words are 0, ones, or a fifth of ones: of five values products carry from word to word. */
static void add_fifths(int64_t *limbs, int limb, int bits, size_t kind)
{
    static const uint64_t words[] = {0, UINT64_MAX, UINT64_MAX / 5};
    for (int b = 0; b < bits; ++b) {
        if (words[kind % 3] >> b % 64 & 1)
            add_bit(limbs, limb, b);
        kind = b % 64 == 63 ? kind / 3 : kind;
    }
}

/*
 * The squares' term and the square of the sum have a word of zeros each, below which the square is larger: of two
 * values, or of 2^37.
 */
static void add_borrow(int64_t *accumulator, const sbn_format *f, int low, int squares)
{
    add_bit(accumulator, f->limb_bits, 96);
    add_bit(accumulator, f->limb_bits, low);
    add_bit(accumulator + f->limbs1, f->limb_bits, squares);
}

/*
 * A number and half of its last digit as a double; or that and a little: as a double, as a float, and as a double
 * by what is a word below. Some are negative.
 */
static void add_tie(int64_t *second, const sbn_format *f, size_t c)
{
    static const int bits[][2] = {{53, 53}, {10, 63}, {28, 52}, {90, 143}};
    const size_t way = c / 4 % 4;
    const int *bit = bits[way], low = (int)(c % (way < 2 ? 63 : 10));
    add_bit(second, f->limb_bits, low);
    add_bit(second, f->limb_bits, low + bit[1]);
    if (bit[0] != bit[1])
        add_bit(second, f->limb_bits, low + bit[0]);
    for (int k = 0; k < f->limbs2 && c % 3 == 1; ++k)
        second[k] = -second[k];
}

/* Terms of one source and slice in channel c, of kind c mod 7; one kind has but one term. */
static void fill_one(int64_t *accumulator, const sbn_format *f, size_t c, int first)
{
    const int limbs1 = f->limbs1, bits = f->limb_bits * (limbs1 - 1) + 9;
    const int bits2 = f->limb_bits * (f->limbs2 - 1) + 9;
    int64_t *second = accumulator + limbs1;
    switch (c % 7) {
    case 0: break; /* zeros */
    case 1: add_values(accumulator, f, 1.0); break;
    case 2:
        add_values(accumulator, f, f == &sbn_wide ? ldexp(1.0, (int)(c % 200) - 100) : 0x1p12);
        break;
    case 3: /* one bit */
        accumulator[c % (size_t)limbs1] += 1;
        second[c % (size_t)f->limbs2] += c % 4 < 2 ? 1 : -1;
        break;
    case 6:
        if (first && c % 2)
            add_borrow(accumulator, f, (int)(c % 31), c % 4 == 1 ? 144 : 108);
        else if (first && c % 4)
            add_fifths(second, f->limb_bits, bits2, c / 7);
        else if (first)
            add_tie(second, f, c);
        break;
    default:
        add_random(accumulator, f->limb_bits, bits, (int)(next() % 2));
        add_random(second, f->limb_bits, bits2, c % 7 == 4 ? 0 : (int)(next() % 2));
    }
    int64_t *flags = &accumulator[sbn__accumulator_length(f) - 1];
    *flags = c % 3 ? (int64_t)(next() % 4 == 0) * SBN_FLAG_WIDE
                   : (int64_t)(next() % (1 << SBN_FLAGS));
}

void sums_fill(sums *s, const sbn_format *format)
{
    static const uint32_t slices[SOURCES] = {MOST_SLICES, 1, 0, 1};
    const size_t limbs = sbn__wide_limbs();
    memset(s, 0, sizeof *s);
    s->format = format;
    s->length = sbn__accumulator_length(format);
    memcpy(s->slices, slices, sizeof slices);
    for (int i = 0; i < SOURCES; ++i) {
        for (uint32_t k = 0; k < s->slices[i]; ++k) {
            int64_t *at = s->of[i] + k * CHANNELS * s->length;
            for (size_t c = 0; c < CHANNELS; ++c)
                fill_one(at + c * s->length, s->format, c, i + k == 0);
            sbn__accumulators_add(at, s->format, CHANNELS, s->all);
        }
        for (size_t c = 0; c < CHANNELS; ++c) {
            /* The flags behind the limbs are in the next channel's place. */
            int64_t *own = s->wide_of[i] + c * limbs;
            fill_one(own, &sbn_wide, c + 1, 0);
            own[limbs] = 0;
            /* Of as many blocks as a replica may have: together they are more than an int64. */
            if (c % 5 == 1)
                own[3] = own[sbn_wide.limbs1 + 6] = INT64_C(0xfc020000) << 30;
            if (s->slices[i] > 0)
                sbn__accumulators_add(own, &sbn_wide, 1, s->all_wide + c * limbs);
        }
    }
}
