/*
 * Accumulators (src/exact/accumulator.h): the largest that kernels leave, added up, carried and sent by as many ranks
 * as there may be, stay the same number, and flags stay flags. The longest integers (src/exact/bigint.h). Which
 * channels have wide accumulators, the inverse deviation, a double as two floats (src/exact/statistics.h). All others:
 * int192.c and, against kernels, tests/device/combine.c.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "exact/bigint.h"
#include "exact/statistics.h"
#include "support/tap.h"

enum { LENGTH = 32, RANKS = 4095, REPLICAS = 30000 };

/* Do so many limbs hold the same number? */
static int same(const int64_t *a, const int64_t *b, int limbs, int bits)
{
    sbn_bigint of_a, of_b;
    sbn__bigint_from_limbs(&of_a, a, limbs, bits);
    sbn__bigint_from_limbs(&of_b, b, limbs, bits);
    return of_a.length == of_b.length && of_a.negative == of_b.negative &&
           memcmp(of_a.limb, of_b.limb, sizeof *of_a.limb * (size_t)of_a.length) == 0;
}

static int small_limbs(const sbn_format *format, const int64_t *limbs)
{
    int small = 1;
    for (int k = 0; k < format->limbs1 + format->limbs2; ++k)
        if (k != format->limbs1 - 1 && k != format->limbs1 + format->limbs2 - 1)
            small = small && limbs[k] >= 0 && limbs[k] < INT64_C(1) << format->limb_bits;
    return small;
}

/* Replicas whose limbs are all as large as they get, carried. */
static void largest(const char *name, const sbn_format *format)
{
    int64_t accumulators[LENGTH], wire[LENGTH] = {0}, all[LENGTH];
    for (size_t k = 0; k + 1 < sbn__accumulator_length(format); ++k)
        accumulators[k] = (INT64_C(1) << 35) - 1;
    accumulators[sbn__accumulator_length(format) - 1] = 0;
    for (int r = 0; r < REPLICAS; ++r)
        sbn__accumulators_add(accumulators, format, 1, wire);
    sbn__accumulators_add(accumulators, format, 0, wire);
    sbn__accumulators_convert(wire, format, 1, 1);
    const int small = small_limbs(format, wire);
    for (size_t k = 0; k < sbn__accumulator_length(format); ++k)
        all[k] = wire[k] * RANKS;
    for (size_t k = 0; k < sbn__accumulator_length(format); ++k)
        accumulators[k] *= (int64_t)REPLICAS * RANKS;
    sbn__accumulators_widen(&(sbn_accumulators){accumulators, format}, 0, (unsigned char[]){1},
                            wire, all);
    const int first = format->limbs1, bits = format->limb_bits;
    tap_ok(small && same(all, accumulators, first, bits) &&
               same(all + first, accumulators + first, format->limbs2, bits),
           "%s: %d ranks with %d replicas of all ones", name, RANKS, REPLICAS);
}

/* All ranks but one with each set of flags, which two neighbouring channels have; that one with one or none. */
static void flags_of_ranks(void)
{
    enum { CHANNELS = 2 << SBN_FLAGS };
    const sbn_format *format = &sbn_forward_narrow;
    const size_t length = sbn__accumulator_length(format);
    int wrong = 0;
    for (int bit = -1; bit < SBN_FLAGS; ++bit) {
        const int64_t flag = bit < 0 ? 0 : 1 << bit;
        int64_t wire[CHANNELS * LENGTH] = {0}, one[LENGTH] = {0};
        one[length - 1] = flag;
        for (size_t c = 0; c < CHANNELS; ++c)
            wire[(c + 1) * length - 1] = (int64_t)c / 2;
        sbn__accumulators_convert(one, format, 1, 1);
        sbn__accumulators_convert(one, format, 0, 1);
        sbn__accumulators_convert(wire, format, CHANNELS, 1);
        for (size_t c = 1; c <= CHANNELS; ++c)
            wire[c * length - 1] = wire[c * length - 1] * (RANKS - 1) + one[length - 1];
        sbn__accumulators_convert(wire, format, CHANNELS, 0);
        for (size_t c = 0; c < CHANNELS; ++c)
            wrong += wire[(c + 1) * length - 1] != ((int64_t)c / 2 | flag);
    }
    tap_ok(!wrong, "flags of %d ranks in %d channels: %d wrong", RANKS, CHANNELS, wrong);
}

/* (2^448 - 1)^2 = 2^896 - 2^449 + 1, and 2^896 - 1 less that is 2^449 - 2. */
static void longest_numbers(void)
{
    sbn_bigint ones, square, one, power, difference, rest;
    int64_t limbs[14];
    for (int k = 0; k < 14; ++k)
        limbs[k] = 0xffffffff;
    sbn__bigint_from_limbs(&ones, limbs, 14, 32);
    sbn__bigint_multiply(&square, &ones, &ones);
    sbn__bigint_from_uint64(&one, 1, 0);
    sbn__bigint_from_uint64(&power, 1, 896);
    sbn__bigint_subtract(&difference, &power, &square);
    sbn__bigint_subtract(&rest, &difference, &one);
    sbn__bigint_from_uint64(&power, 1, 449);
    sbn__bigint_subtract(&one, &power, &rest);
    sbn__bigint_multiply(&difference, &one, &one);
    sbn__bigint_from_uint64(&power, 1, 63);
    tap_ok(sbn__bigint_to_double(&rest, -449) == 1.0 && sbn__bigint_to_double(&one, 0) == 2.0 &&
               sbn__bigint_to_double(&power, -63) == 1.0 &&
               sbn__bigint_to_double(&difference, 0) == 4.0,
           "2^896 - (2^448 - 1)^2 - 1 = 2^449 - 2");
    sbn__bigint_subtract(&rest, &square, &square);
    tap_ok(rest.length == 0 && !rest.negative, "a - a is zero, without a sign");
    sbn_bigint two[2]; /* before whose second one is the first one's sign */
    sbn__bigint_from_limbs(&two[0], (const int64_t[]){-1}, 1, 32);
    sbn__bigint_from_uint64(&two[1], (UINT64_C(1) << 53) + 1, 0);
    tap_ok(two[0].negative && two[0].limb[2] == 0 && sbn__bigint_to_double(&two[1], 0) == 0x1p53,
           "behind a number are zeros, and nothing before it counts");
}

/* --- what is derived --- */

static const sbn_eps plain = {1e-5, 0}, clamp = {1e-5, 1};

static void needs_wide(void)
{
    enum { INF = SBN_FLAG_PLUS_INF, OVER = SBN_FLAG_OVERFLOW, WIDE = SBN_FLAG_WIDE };
    static const int64_t flags[] = {WIDE, 0, WIDE | OVER, INF, INF | WIDE, 0, WIDE};
    static const unsigned char expected[] = {1, 0, 1, 0, 1, 0, 1};
    enum { CHANNELS = sizeof expected };
    const size_t length = sbn__accumulator_length(&sbn_forward_narrow);
    int64_t wire[CHANNELS * LENGTH] = {0};
    unsigned char wide[CHANNELS];
    for (size_t c = 0; c < CHANNELS; ++c)
        wire[(c + 1) * length - 1] = flags[c];
    const sbn_accumulators accumulators = {wire, &sbn_forward_narrow};
    const size_t count = sbn__needs_wide(&accumulators, CHANNELS, wide);
    tap_ok(count == 4 && memcmp(wide, expected, CHANNELS) == 0 &&
               sbn__needs_wide(&accumulators, 0, wide) == 0,
           "wide accumulators count where there are terms in them");
}

static void small_slices(void)
{
    tap_ok(sbn__invstd(3.0, (sbn_eps){1.0, 0}) == 0.5, "1 / sqrt(3 + 1)");
    tap_ok(sbn__invstd(0.25, (sbn_eps){4.0, 1}) == 0.5 && sbn__is_clamped(0.25, (sbn_eps){4.0, 1}),
           "1 / sqrt(max(0.25, 4)), clamped");
    tap_ok(sbn__invstd(4.0, (sbn_eps){4.0, 1}) == 0.5 && !sbn__is_clamped(4.0, (sbn_eps){4.0, 1}),
           "1 / sqrt(max(4, 4)), not clamped");
    tap_ok(isnan(sbn__invstd(NAN, clamp)) && isnan(sbn__invstd(NAN, plain)), "a NaN stays one");
    const double list[] = {0.0, 1000.0 / 3, -1e-7 / 3, 1e30 / 7, 1e-20 / 7};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        const sbn_double_float two = sbn__split_double(list[i]);
        const double left = fabs(list[i] - two.high - two.low), most = fabs(list[i]) * 0x1p-48;
        tap_ok(left <= most, "two floats for %g leave %g of at most %g", list[i], left, most);
    }
    const sbn_double_float infinite = sbn__split_double(1e300);
    tap_ok(isinf(infinite.high) && infinite.low == 0.0f, "two floats for 1e300: Inf and 0");
    int64_t wire[LENGTH] = {0};
    wire[sbn_wide.limbs1 + 8] = INT64_C(0xffffff) << 8; /* of one value: 2^128 - 2^104 */
    const sbn_accumulators largest = {wire, &sbn_wide};
    double mean, var;
    sbn__moments_of(&largest, 1, NULL, 1, &mean, &var);
    tap_ok(var == FLT_MAX, "the largest float is a finite variance: %g", var);
}

int main(void)
{
    largest("narrow forward", &sbn_forward_narrow);
    largest("narrow backward", &sbn_backward_narrow);
    largest("wide", &sbn_wide);
    flags_of_ranks();
    longest_numbers();
    needs_wide();
    small_slices();
    return tap_done();
}
