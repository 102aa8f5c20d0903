/* The distributed sampler: lengths and padding as PyTorch's, each sample once, the order that was written down once. */
#include <math.h>
#include <string.h>

#include "support/refused.h"

enum { MOST = 4096 };

#define SAMPLER(...) ((sbn_sampler){.size = sizeof(sbn_sampler), __VA_ARGS__})

static uint64_t order[2 * MOST];

/* The whole order, as the replicas take it in turn; its length. */
static size_t collect(sbn_sampler sampler)
{
    uint64_t length = 0, one;
    must(sbn_sampler_length(&sampler, &length), "sbn_sampler_length");
    for (sampler.replica = 0; sampler.replica < sampler.replicas; ++sampler.replica)
        for (uint64_t i = 0; i < length; ++i) {
            must(sbn_sampler_take(&sampler, i, 1, &one), "sbn_sampler_take");
            order[i * sampler.replicas + sampler.replica] = one;
        }
    return (size_t)(length * sampler.replicas);
}

/* PyTorch's lengths, in its own words: torch/utils/data/distributed.py. */
static uint64_t expected_length(uint64_t samples, uint64_t replicas, int drop_last)
{
    if (drop_last && samples % replicas != 0)
        return samples < replicas ? 0
                                  : (uint64_t)ceil((double)(samples - replicas) / (double)replicas);
    return (uint64_t)ceil((double)samples / (double)replicas);
}

/* 1 if the order is a permutation of the samples, repeated from its start or cut at its end. */
static int is_right(const sbn_sampler *s, size_t total)
{
    static unsigned char seen[MOST];
    memset(seen, 0, sizeof seen);
    for (size_t p = 0; p < total; ++p) {
        if (order[p] >= s->samples)
            return 0;
        if (p >= s->samples ? order[p] != order[p % s->samples] : seen[order[p]]++)
            return 0;
        if (!s->shuffle && order[p] != p % s->samples)
            return 0;
    }
    return 1;
}

static void check_shards(void)
{
    int wrong = 0, cases = 0;
    for (uint64_t samples = 0; samples < 200; samples = samples < 66 ? samples + 1 : samples + 13)
        for (uint64_t replicas = 1; replicas < 20; replicas += 1 + replicas / 6)
            for (int settings = 0; settings < 4; ++settings) {
                const sbn_sampler s = SAMPLER(.samples = samples, .replicas = replicas, .seed = 7,
                                              .epoch = samples, .shuffle = settings & 1,
                                              .drop_last = settings >> 1);
                uint64_t length = 99;
                must(sbn_sampler_length(&s, &length), "sbn_sampler_length");
                wrong += length != expected_length(samples, replicas, s.drop_last) ||
                         !is_right(&s, collect(s));
                ++cases;
            }
    tap_ok(!wrong, "lengths and shards as PyTorch's: %d of %d wrong", wrong, cases);
}

/* Written down once: another machine, compiler or byte order must agree. */
static void check_golden(uint64_t samples, uint64_t replicas, uint64_t first,
                         const uint64_t golden[8])
{
    uint64_t taken[8];
    const sbn_sampler s = SAMPLER(.samples = samples, .replicas = replicas, .replica = 1,
                                  .seed = 1234567890123456789u, .epoch = 3, .shuffle = 1);
    must(sbn_sampler_take(&s, first, 8, taken), "sbn_sampler_take");
    for (size_t i = 0; i < 8; ++i)
        tap_ok(taken[i] == golden[i], "the order of %d is what it was: expected %d, got %d",
               (int)samples, (int)golden[i], (int)taken[i]);
}

static void check_huge(void)
{
    uint64_t taken[3], length;
    const uint64_t most = (uint64_t)1 << 32;
    const sbn_sampler s = SAMPLER(.samples = (uint64_t)1 << 62, .replicas = most,
                                  .replica = most - 1, .shuffle = 1);
    must(sbn_sampler_length(&s, &length), "sbn_sampler_length");
    const int status = sbn_sampler_take(&s, length - 3, 3, taken);
    tap_ok(!status && taken[0] < s.samples && taken[1] < s.samples && taken[0] != taken[1],
           "2^62 samples for 2^32 replicas");
}

static void check_refused(void)
{
    uint64_t length, taken[4];
    const sbn_sampler of_10 = SAMPLER(.samples = 10, .replicas = 3);
    REFUSED(sbn_sampler_length(NULL, &length), "sampler|NULL");
    REFUSED(sbn_sampler_length(&of_10, NULL), "length|NULL");
    REFUSED(sbn_sampler_length(&(sbn_sampler){.size = 8, .replicas = 3}, &length), "size|got 8");
    REFUSED(sbn_sampler_length(&SAMPLER(.samples = 10), &length), "got 0 of 0");
    REFUSED(sbn_sampler_length(&SAMPLER(.samples = UINT64_MAX, .replicas = 3), &length), "samples");
    REFUSED(sbn_sampler_take(&SAMPLER(.samples = 10, .replicas = 3, .replica = 3), 0, 1, taken),
            "got 3 of 3");
    REFUSED(sbn_sampler_take(&of_10, 3, 2, taken), "at most 4|2 from 3");
    REFUSED(sbn_sampler_take(&of_10, UINT64_MAX, 1, taken), "at most 4");
    REFUSED(sbn_sampler_take(&of_10, 0, 1, NULL), "samples|NULL");
    RIGHT(sbn_sampler_take(&of_10, 4, 0, NULL));
    REFUSED(sbn_sampler_take(&SAMPLER(.samples = 0, .replicas = 3), 0, 1, taken), "at most 0");
}

int main(void)
{
    check_shards();
    check_golden(60000, 4, 100, (uint64_t[]){20779, 7565, 40329, 13231, 51702, 59358, 44254, 8615});
    /* The least networks: as large as the samples, and larger. */
    check_golden(64, 4, 0, (uint64_t[]){63, 52, 14, 9, 29, 32, 48, 59});
    check_golden(16, 2, 0, (uint64_t[]){5, 0, 8, 6, 14, 13, 9, 2});
    check_huge();
    check_refused();
    return tap_done();
}
