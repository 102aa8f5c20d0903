/*
 * Narrow sums in registers (src/exact/int192.h) against big integers, bit for bit: random
 * accumulators of every length and sign in both formats, accumulators at the ends of their range,
 * variances that cancel, and results that lie between two doubles.
 */
#include <math.h>
#include <string.h>

#include "check/mix.h"
#include "exact/int192.h"
#include "exact/statistics.h"
#include "exact/bigint.h"
#include "support/tap.h"

#ifdef __SIZEOF_INT128__

enum { LENGTH = 16, CHANNELS = 120000 };

static int64_t all[CHANNELS * LENGTH];
static double mean[CHANNELS], var[CHANNELS], dy[CHANNELS], dy_xmu[CHANNELS], of_x[CHANNELS];

static int64_t length_of(uint64_t number, int bits)
{
    const int64_t value = (int64_t)(mix(1, number) >> 1) >>
                          (63 - bits + (int)(mix(2, number) % (unsigned)bits));
    return mix(3, number) & 1 ? -value : value;
}

/* Limbs of any length that accumulators may have: they are carried without overflow. */
static void random_accumulators(int64_t *at, const sbn_format *format, uint64_t number)
{
    for (size_t k = 0; k + 1 < sbn__accumulator_length(format); ++k)
        at[k] = length_of(number * LENGTH + k, 62);
}

/* Digits as carrying leaves them, the highest short or the sign alone; zeros and ones are frequent. */
static void carried_accumulators(int64_t *at, const sbn_format *format, uint64_t number)
{
    const int64_t mask = (INT64_C(1) << SBN_LIMB_BITS) - 1;
    for (size_t k = 0; k + 1 < sbn__accumulator_length(format); ++k) {
        const int highest = (int)k == format->limbs1 - 1 ||
                            k + 2 == sbn__accumulator_length(format);
        const uint64_t of_word = number * LENGTH + k, kind = mix(4, of_word) % 8;
        at[k] = kind == 0 ? 0 : kind == 1 ? mask : (int64_t)mix(5, of_word) & mask;
        if (highest)
            at[k] = kind < 4 ? (int64_t)(kind & 1) - 1
                             : length_of(of_word, 1 + (int)(mix(6, number) % 40));
    }
}

static void extreme_accumulators(int64_t *at, const sbn_format *format, uint64_t number)
{
    const int64_t low = INT64_C(1) << 45, high = INT64_C(1) << 62;
    const int64_t list[] = {0,           1,   -1,   high,    -high,   UINT32_MAX,
                            8 * low - 1, low, -low, low - 1, -low - 1};
    for (size_t k = 0; k + 1 < sbn__accumulator_length(format); ++k)
        at[k] = list[mix(7, number * LENGTH + k) % (sizeof list / sizeof *list)];
}

/* A value as limbs of `bits` bits, added to what is there. */
static void put(int64_t *limbs, int count, int bits, const sbn_bigint *value)
{
    for (int k = 0; k < count; ++k) {
        uint64_t limb = 0;
        const int width = k + 1 < count ? bits : 63;
        for (int b = 0; b < width && k * bits + b < 32 * value->length; ++b) {
            const int place = k * bits + b;
            limb |= (uint64_t)(value->limb[place / 32] >> (place % 32) & 1) << b;
        }
        limbs[k] += value->negative ? -(int64_t)limb : (int64_t)limb;
    }
}

static uint64_t count_of(uint64_t number)
{
    return 1 + (mix(10, number) >> 1 >> mix(11, number) % 63);
}

/* The square of a mean of few bits, and next to nothing beside it: sums that cancel. */
static void cancelling_accumulators(int64_t *at, const sbn_format *format, uint64_t number)
{
    const uint64_t count = count_of(number) >> 20 | 1;
    const int shift = 2 * format->low1 - format->low2;
    sbn_bigint n, x, xx, sum, squares;
    memset(at, 0, sizeof *at * sbn__accumulator_length(format));
    sbn__bigint_from_uint64(&n, count, 0);
    sbn__bigint_from_uint64(&x, mix(8, number) >> 24, 0);
    sbn__bigint_multiply(&xx, &x, &x);
    sbn__bigint_multiply(&squares, &xx, &n);
    /* x is in units that square to those of the second sum. */
    sbn__bigint_from_uint64(&n, count, shift / 2);
    sbn__bigint_multiply(&sum, &x, &n);
    sum.negative = (int)(number & 1);
    put(at, format->limbs1, SBN_LIMB_BITS, &sum);
    put(at + format->limbs1, format->limbs2, SBN_LIMB_BITS, &squares);
    at[format->limbs1] += (int64_t)(mix(12, number) % 5) - 2;
}

/* 2^53 + odd, a half, and a rest far below or none. */
static void tied_accumulators(int64_t *at, const sbn_format *format, uint64_t number)
{
    const int counts[2] = {format->limbs1, format->limbs2};
    int64_t *limbs = at;
    memset(at, 0, sizeof *at * sbn__accumulator_length(format));
    for (int i = 0; i < 2; ++i, limbs += counts[0]) {
        const int most = SBN_LIMB_BITS * (counts[i] - 1) - 20;
        const unsigned bits = (unsigned)mix(13 + (uint64_t)i, number);
        sbn_bigint value;
        sbn__bigint_from_uint64(&value, (UINT64_C(1) << 54) + (bits & 3),
                                (int)(bits >> 8) % (most > 1 ? most : 1));
        value.limb[0] |= bits >> 2 & 1;
        value.negative = bits >> 3 & 1;
        put(limbs, counts[i], SBN_LIMB_BITS, &value);
    }
}

static int same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static const struct {
    const char *name;
    void (*fill)(int64_t *at, const sbn_format *format, uint64_t number);
} kinds[] = {{"any limbs", random_accumulators},
             {"carried limbs", carried_accumulators},
             {"limbs at their ends", extreme_accumulators},
             {"sums that cancel", cancelling_accumulators},
             {"ties", tied_accumulators}};

static uint64_t counts_of_channel(int kind, uint64_t round)
{
    return kind == 3 ? count_of(round) >> 20 | 1 : count_of(round);
}

/* One count serves all channels of a call: so calls are of few channels. */
static void compare(int kind, const char *format_name, const sbn_format *format)
{
    enum { AT_ONCE = 8 };
    int moments = 0, products = 0;
    uint64_t first = 0;
    const size_t length = sbn__accumulator_length(format);
    for (uint64_t c = 0; c < CHANNELS; ++c) {
        int64_t *at = all + c * length;
        kinds[kind].fill(at, format, kind == 3 ? c / AT_ONCE : c);
        at[length - 1] = (int64_t)(c % (1 << SBN_FLAGS)) & (c % 16 ? 24 : 31);
        of_x[c] = (double)length_of(c, 60) * 0x1p-30;
    }
    for (uint64_t c = 0; c < CHANNELS; c += AT_ONCE) {
        const sbn_accumulators accumulators = {all + c * length, format};
        const uint64_t count = counts_of_channel(kind, c / AT_ONCE);
        sbn__moments_of(&accumulators, AT_ONCE, NULL, count, mean + c, var + c);
        for (size_t i = 0; i < AT_ONCE; ++i) {
            const sbn_moments m = sbn__bigint_moments(&accumulators, i, count);
            if ((!same(m.mean, mean[c + i]) || !same(m.var, var[c + i])) && !moments++)
                first = c + i;
        }
    }
    const sbn_accumulators accumulators = {all, format};
    sbn__gradient_sums_of(&accumulators, CHANNELS, NULL, of_x, dy, dy_xmu);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const sbn_gradient_sums p = sbn__bigint_gradient_sums(&accumulators, c, of_x[c]);
        products += !same(p.dy, dy[c]) || !same(p.dy_xmu, dy_xmu[c]);
    }
    tap_ok(!moments && !products, "%s, %s: %d moments (first no. %llu) and %d products differ",
           format_name, kinds[kind].name, moments, (unsigned long long)first, products);
}

/* How many variances of sums that cancel are computed in registers at all. */
static void coverage(const sbn_format *format)
{
    enum { ROUNDS = 20000, LEAST = 90 };
    const int shift = 2 * format->low1 - format->low2;
    int fit = 0;
    for (uint64_t c = 0; c < ROUNDS; ++c) {
        int64_t at[LENGTH];
        sbn_int192 sum, squares;
        double spread;
        cancelling_accumulators(at, format, c);
        fit += sbn__int192_from_limbs(&sum, at, format->limbs1) &&
               sbn__int192_from_limbs(&squares, at + format->limbs1, format->limbs2) &&
               sbn__int192_n2_variance(sum, squares, counts_of_channel(3, c), shift, 0, &spread);
    }
    tap_ok(100 * fit >= LEAST * ROUNDS,
           "of sums that cancel %d of %d fit registers, expected %d %%", fit, ROUNDS, LEAST);
}

int main(void)
{
    for (int kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); ++kind) {
        compare(kind, "forward", &sbn_forward_narrow);
        /* The backward format has no variance, but what it would be is still a number. */
        if (kind != 3)
            compare(kind, "backward", &sbn_backward_narrow);
    }
    coverage(&sbn_forward_narrow);
    return tap_done();
}

#else

int main(void)
{
    tap_skip("this compiler has no 128-bit integers");
    return tap_done();
}

#endif
