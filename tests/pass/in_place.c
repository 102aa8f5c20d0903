/*
 * Outputs that are neither apart from inputs nor in their place are refused, and so is training in place.
 * What is in place has the bits of what is apart: tests/pass/same.
 */
#include <string.h>

#include "support/refused.h"

static stage s;

static void check_training(void)
{
    sbn_shard shards[REPLICAS];
    memcpy(shards, s.good, sizeof shards);
    for (size_t r = 0; r < REPLICAS; ++r)
        shards[r].y = shards[r].x;
    refused(&s, FORWARD, s.layer, shards, s.saved, 0, SBN_INVALID_ARGUMENT,
            "replica 0: y is written and must not overlap x", "training in place");
}

/* dx over dy, but for one buffer. */
static void check_shifted(size_t replica, size_t place, sbn_buffer put, const char *words,
                          const char *what)
{
    sbn_shard shards[REPLICAS];
    memcpy(shards, s.good, sizeof shards);
    for (size_t r = 0; r < REPLICAS; ++r)
        shards[r].dx = shards[r].dy;
    memcpy((char *)&shards[replica] + place, &put, sizeof put);
    refused(&s, BACKWARD, s.layer, shards, s.saved, 0, SBN_INVALID_ARGUMENT, words, what);
}

int main(void)
{
    if (stage_open(&s))
        return fixture_missing();
    sbn_buffer shifted = s.good[1].dy;
    --shifted.offset;
    check_training();
    check_shifted(1, offsetof(sbn_shard, dx), shifted,
                  "replica 1: dx is written and must not overlap dy", "dx one element before dy");
    check_shifted(0, offsetof(sbn_shard, dx), s.good[1].dy,
                  "replica 1: dx must not overlap dx of replica 0", "dx over another replica's dy");
    check_shifted(0, offsetof(sbn_shard, x), s.good[0].dy,
                  "replica 0: dx is written and must not overlap x", "dx over dy which is x");
    check_shifted(1, offsetof(sbn_shard, x), (sbn_buffer){s.good[0].dy.mem, 0},
                  "replica 1: x must not overlap dx of replica 0",
                  "dx over dy, another replica's x there");
    return stage_close(&s);
}
