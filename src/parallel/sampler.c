/*
 * The distributed sampler. The order is a permutation of 0 ... N - 1 that is computed place by place. A Feistel
 * network permutes the numbers of 2 h bits, where 4^h is the least such power not below N and at least 4^3; it is
 * applied again while its result is N or more (cycle walking, Black & Rogaway 2002), on average less than four times
 * from 17 samples on. Each round mixes in a key drawn from seed and epoch.
 */
#include <syncbn/sampler.h>

#include "base/error.h"
#include "base/versioned_struct.h"

enum { ROUNDS = 8 };

/* Up to these no place overflows. */
#define MOST_SAMPLES (1ull << 62)
#define MOST_REPLICAS (1ull << 32)

/* Stafford's mix 13, as in SplitMix64 (Steele, Lea & Flood 2014). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

typedef struct shuffle {
    uint64_t samples;
    int half; /* bits */
    uint64_t keys[ROUNDS];
} shuffle;

static shuffle shuffle_of(const sbn_sampler *sampler)
{
    shuffle s = {.samples = sampler->samples, .half = 3};
    uint64_t key = mix(mix(sampler->seed) + sampler->epoch + 0x9e3779b97f4a7c15u);
    while ((sampler->samples - 1) >> (2 * s.half) != 0)
        ++s.half;
    for (int i = 0; i < ROUNDS; ++i) {
        key += 0x9e3779b97f4a7c15u;
        s.keys[i] = mix(key);
    }
    return s;
}

static uint64_t permute_once(const shuffle *s, uint64_t place)
{
    const uint64_t mask = ((uint64_t)1 << s->half) - 1;
    uint64_t left = place >> s->half, right = place & mask;
    for (int i = 0; i < ROUNDS; ++i) {
        const uint64_t next = left ^ (mix(right ^ s->keys[i]) & mask);
        left = right;
        right = next;
    }
    return left << s->half | right;
}

static uint64_t permute(const shuffle *s, uint64_t place)
{
    do
        place = permute_once(s, place);
    while (place >= s->samples);
    return place;
}

int sbn_sampler_init(sbn_sampler *sampler, size_t size)
{
    static const sbn_sampler defaults = SBN_SAMPLER_INIT;
    return sbn__struct_init(sampler, size, &defaults, SBN_STRUCT(sbn_sampler), "sampler");
}

/* Copies and checks the caller's struct. */
static int read_sampler(const sbn_sampler *given, sbn_sampler *sampler)
{
    sbn__error_clear();
    if (!given)
        return sbn__fail(SBN_INVALID_ARGUMENT, "sampler: expected a sampler, got NULL");
    const int status = sbn__struct_read(sampler, given, SBN_STRUCT(sbn_sampler), "sampler");
    if (status)
        return status;
    if (sampler->samples > MOST_SAMPLES || sampler->replicas > MOST_REPLICAS)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "sampler: expected at most %llu samples and %llu replicas, got %llu and %llu",
            MOST_SAMPLES, MOST_REPLICAS, (unsigned long long)sampler->samples,
            (unsigned long long)sampler->replicas);
    if (sampler->replica >= sampler->replicas)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "sampler: expected a replica below their number, got %llu of %llu",
                         (unsigned long long)sampler->replica,
                         (unsigned long long)sampler->replicas);
    return SBN_SUCCESS;
}

static uint64_t length_of(const sbn_sampler *sampler)
{
    const uint64_t whole = sampler->samples / sampler->replicas;
    return whole + (!sampler->drop_last && sampler->samples % sampler->replicas != 0);
}

int sbn_sampler_length(const sbn_sampler *given, uint64_t *length)
{
    sbn_sampler sampler;
    int status = read_sampler(given, &sampler);
    if (!status && !length)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "length: expected a place for a number, got NULL");
    if (!status)
        *length = length_of(&sampler);
    return status;
}

int sbn_sampler_take(const sbn_sampler *given, uint64_t first, size_t count, uint64_t *samples)
{
    sbn_sampler sampler;
    const int status = read_sampler(given, &sampler);
    if (status)
        return status;
    const uint64_t length = length_of(&sampler);
    if (first > length || count > length - first)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "first, count: expected at most %llu samples, got %zu from %llu on",
                         (unsigned long long)length, count, (unsigned long long)first);
    if (count == 0)
        return SBN_SUCCESS;
    if (!samples)
        return sbn__fail(SBN_INVALID_ARGUMENT, "samples: expected room for %zu numbers, got NULL",
                         count);
    const shuffle order = shuffle_of(&sampler);
    for (size_t i = 0; i < count; ++i) {
        const uint64_t place = ((first + i) * sampler.replicas + sampler.replica) % sampler.samples;
        samples[i] = sampler.shuffle ? permute(&order, place) : place;
    }
    return SBN_SUCCESS;
}
