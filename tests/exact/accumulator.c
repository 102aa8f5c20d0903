/*
 * Accumulators (src/exact/accumulator.h): the largest that kernels leave, added up, carried and sent by as
 * many ranks as there may be, stay the same number, and flags stay flags. Any others, and what is added to wide
 * ones: tests/device/combine.c. The longest integers (src/exact/bigint.h); all others: int192.c.
 */
#include <string.h>

#include "exact/bigint.h"
#include "support/tap.h"
#include "exact/accumulator.h"

enum { LENGTH = 32, RANKS = 4095, REPLICAS = 30000 };

static const struct {
    const char *name;
    const sbn_format *format;
} formats[] = {{"narrow forward", &sbn_forward_narrow},
               {"narrow backward", &sbn_backward_narrow},
               {"wide", &sbn_wide}};

static int same(const sbn_bigint *a, const sbn_bigint *b)
{
    return a->length == b->length && a->negative == b->negative &&
           memcmp(a->limb, b->limb, sizeof *a->limb * (size_t)a->length) == 0;
}

/* Do the two sums hold the same numbers? */
static int same_numbers(const sbn_format *format, const int64_t *a, const int64_t *b)
{
    sbn_bigint of_a, of_b;
    sbn__bigint_from_limbs(&of_a, a, format->limbs1, format->limb_bits);
    sbn__bigint_from_limbs(&of_b, b, format->limbs1, format->limb_bits);
    const int first = same(&of_a, &of_b);
    sbn__bigint_from_limbs(&of_a, a + format->limbs1, format->limbs2, format->limb_bits);
    sbn__bigint_from_limbs(&of_b, b + format->limbs1, format->limbs2, format->limb_bits);
    return first && same(&of_a, &of_b);
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
    sbn__accumulators_encode(wire, format, 1);
    const int small = small_limbs(format, wire);
    for (size_t k = 0; k < sbn__accumulator_length(format); ++k)
        all[k] = wire[k] * RANKS;
    for (size_t k = 0; k < sbn__accumulator_length(format); ++k)
        accumulators[k] *= (int64_t)REPLICAS * RANKS;
    sbn__accumulators_widen(&(sbn_accumulators){accumulators, format}, 0, (unsigned char[]){1},
                            wire, all);
    tap_ok(small && same_numbers(format, all, accumulators),
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
        sbn__accumulators_encode(one, format, 1);
        sbn__accumulators_encode(one, format, 0);
        sbn__accumulators_encode(wire, format, CHANNELS);
        for (size_t c = 1; c <= CHANNELS; ++c)
            wire[c * length - 1] = wire[c * length - 1] * (RANKS - 1) + one[length - 1];
        sbn__accumulators_decode(wire, format, CHANNELS);
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
}

int main(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i)
        largest(formats[i].name, formats[i].format);
    flags_of_ranks();
    longest_numbers();
    return tap_done();
}
