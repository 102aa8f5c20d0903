/*
 * Words (src/exact/accumulator.h): what kernels leave, added up, carried and sent
 * by as many ranks as there may be, stays the same number, and flags stay flags.
 */
#include <string.h>

#include "check/mix.h"
#include "exact/big.h"
#include "support/tap.h"
#include "exact/accumulator.h"

enum { WORDS = 32, ROUNDS = 20000, RANKS = 4095, REPLICAS = 30000 };

static const struct {
    const char *name;
    const sbn_format *format;
} formats[] = {{"narrow forward", &sbn_forward_narrow},
               {"narrow backward", &sbn_backward_narrow},
               {"wide", &sbn_wide}};

static int same(const sbn_big *a, const sbn_big *b)
{
    return a->length == b->length && a->negative == b->negative &&
           memcmp(a->limb, b->limb, sizeof *a->limb * (size_t)a->length) == 0;
}

/* Do the two sums hold the same numbers? */
static int same_numbers(const sbn_accumulators *a, const sbn_accumulators *b)
{
    sbn_big of_a, of_b;
    sbn__big_from_digits(&of_a, a->at, a->digits1, SBN_DIGIT_BITS);
    sbn__big_from_digits(&of_b, b->at, b->digits1, SBN_DIGIT_BITS);
    const int first = same(&of_a, &of_b);
    sbn__big_from_digits(&of_a, a->at + a->digits1, a->digits2, SBN_DIGIT_BITS);
    sbn__big_from_digits(&of_b, b->at + b->digits1, b->digits2, SBN_DIGIT_BITS);
    return first && same(&of_a, &of_b);
}

/* As blocks leave them: up to 2^62 and of both signs, short ones as frequent as long ones. */
static int64_t random_digit(uint64_t number)
{
    const int64_t value = (int64_t)(mix(1, number) >> 2) >> (mix(2, number) % 62);
    return mix(3, number) & 1 ? -value : value;
}

static void fill(int64_t *words, size_t count, uint64_t round)
{
    static const int64_t extremes[] =
        {0, 1, -1, UINT32_MAX, -(int64_t)UINT32_MAX, INT64_C(1) << 62, -(INT64_C(1) << 62)};
    for (size_t k = 0; k < count; ++k) {
        const uint64_t number = round * WORDS + k;
        words[k] = round % 3 ? random_digit(number) : extremes[mix(4, number) % 7];
    }
    words[count] = (int64_t)(mix(5, round) % (1 << SBN_FLAGS));
}

static int small_digits(const sbn_accumulators *w)
{
    int small = 1;
    for (int k = 0; k < w->digits1 + w->digits2; ++k)
        if (k != w->digits1 - 1 && k != w->digits1 + w->digits2 - 1)
            small = small && w->at[k] >= 0 && w->at[k] < INT64_C(1) << SBN_DIGIT_BITS;
    return small;
}

/* One replica's words: the same number on the wire, in digits that are small. */
static void one_replica(const char *name, const sbn_format *format)
{
    int wrong = 0, large = 0, flags = 0;
    for (uint64_t round = 0; round < ROUNDS; ++round) {
        int64_t words[WORDS], wire[WORDS] = {0};
        fill(words, sbn__format_words(format) - 1, round);
        const sbn_accumulators from = sbn__accumulators_at(words, format);
        const sbn_accumulators to = sbn__accumulators_at(wire, format);
        sbn__accumulators_add(words, format, 1, wire);
        wrong += !same_numbers(&from, &to);
        large += !small_digits(&to);
        flags += sbn__flags_of(&from, 0) != sbn__flags_of(&to, 0);
    }
    tap_ok(!wrong && !large && !flags,
           "%s: %d words on the wire: %d wrong numbers, %d large digits, %d wrong flags", name,
           ROUNDS, wrong, large, flags);
}

/* Several replicas, ranks and channels at once, against sums of kernels' digits. */
static void many_replicas(const char *name, const sbn_format *format)
{
    enum { OF_RANK = 3, CHANNELS = 3 };
    const size_t per_channel = sbn__format_words(format);
    int64_t all[CHANNELS * WORDS] = {0}, sent[CHANNELS * WORDS] = {0};
    int large = 0;
    for (uint64_t m = 0; m < RANKS; ++m) {
        int64_t wire[CHANNELS * WORDS] = {0};
        for (uint64_t r = 0; r < OF_RANK; ++r) {
            int64_t words[CHANNELS * WORDS];
            for (size_t c = 0; c < CHANNELS; ++c) {
                int64_t *own = words + c * per_channel;
                fill(own, per_channel - 1, 3 * ((m * OF_RANK + r) * CHANNELS + c) + 1);
                for (size_t k = 0; k < per_channel; ++k) {
                    own[k] = k + 1 < per_channel ? own[k] >> 12 : own[k];
                    all[c * per_channel + k] += own[k];
                }
            }
            sbn__accumulators_add(words, format, CHANNELS, wire);
        }
        sbn__accumulators_seal(wire, format, CHANNELS);
        for (size_t c = 0; c < CHANNELS; ++c) {
            const sbn_accumulators of_channel = sbn__accumulators_at(wire + c * per_channel,
                                                                     format);
            large += !small_digits(&of_channel);
        }
        for (size_t i = 0; i < CHANNELS * per_channel; ++i)
            sent[i] += wire[i];
    }
    sbn__accumulators_open(sent, format, CHANNELS);
    int wrong = 0, flags = 0;
    for (size_t c = 0; c < CHANNELS; ++c) {
        const sbn_accumulators sum = sbn__accumulators_at(all + c * per_channel, format);
        const sbn_accumulators came = sbn__accumulators_at(sent + c * per_channel, format);
        wrong += !same_numbers(&sum, &came);
        flags += sbn__flags_of(&came, 0) != (1 << SBN_FLAGS) - 1;
    }
    tap_ok(!wrong && !large && !flags,
           "%s: %d ranks with %d replicas: %d wrong numbers, %d large digits, %d wrong flags", name,
           RANKS, OF_RANK, wrong, large, flags);
}

/* Replicas whose digits are all as large as they get, carried. */
static void largest(const char *name, const sbn_format *format)
{
    int64_t words[WORDS], wire[WORDS] = {0}, all[WORDS];
    for (size_t k = 0; k + 1 < sbn__format_words(format); ++k)
        words[k] = (INT64_C(1) << 35) - 1;
    words[sbn__format_words(format) - 1] = 0;
    const sbn_accumulators from = sbn__accumulators_at(words, format);
    for (int r = 0; r < REPLICAS; ++r)
        sbn__accumulators_add(words, format, 1, wire);
    sbn__accumulators_seal(wire, format, 1);
    const sbn_accumulators of_rank = sbn__accumulators_at(wire, format);
    const int small = small_digits(&of_rank);
    for (size_t k = 0; k < sbn__format_words(format); ++k)
        all[k] = wire[k] * RANKS;
    for (size_t k = 0; k < sbn__format_words(format); ++k)
        words[k] *= (int64_t)REPLICAS * RANKS;
    const sbn_accumulators came = sbn__accumulators_at(all, format);
    tap_ok(small && same_numbers(&came, &from), "%s: %d ranks with %d replicas of all ones", name,
           RANKS, REPLICAS);
}

/* All ranks, or only one, with each set of flags. */
static void flags_of_ranks(void)
{
    const sbn_format *format = &sbn_forward_narrow;
    const size_t at = sbn__format_words(format) - 1;
    int wrong_all = 0, wrong_one = 0;
    for (int64_t flags = 0; flags < 1 << SBN_FLAGS; ++flags) {
        int64_t wire[WORDS] = {0};
        wire[at] = flags;
        sbn__accumulators_seal(wire, format, 1);
        const int64_t counts = wire[at];
        wire[at] = counts * RANKS;
        sbn__accumulators_open(wire, format, 1);
        wrong_all += wire[at] != flags;
        for (int bit = 0; bit < SBN_FLAGS; ++bit) {
            wire[at] = 1 << bit;
            sbn__accumulators_seal(wire, format, 1);
            wire[at] += counts * (RANKS - 1);
            sbn__accumulators_open(wire, format, 1);
            wrong_one += wire[at] != (flags | 1 << bit);
        }
    }
    tap_ok(!wrong_all, "flags that %d ranks shard: %d wrong", RANKS, wrong_all);
    tap_ok(!wrong_one, "a flag of one rank among %d: %d wrong", RANKS, wrong_one);
}

int main(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
        one_replica(formats[i].name, formats[i].format);
        many_replicas(formats[i].name, formats[i].format);
        largest(formats[i].name, formats[i].format);
    }
    flags_of_ranks();
    return tap_done();
}
