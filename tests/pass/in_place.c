/*
 * Outputs that are neither apart from inputs nor in their place are refused, and so is training in place.
 * What is in place has the bits of what is apart: tests/pass/same.
 */
#include "support/stage.h"

static void check_training(void)
{
    const arguments right = stage.right;
    const refusal rows[] = {
        ROW(shards[0].y, right.shards[0].x, NULL),
        ROW(shards[1].y, right.shards[1].x, "replica 0: y is written and must not overlap x"),
    };
    REFUSE_PASS(right, rows);
}

/* dx over dy, but for one buffer. */
static void check_gradients(void)
{
    arguments right = stage.right;
    right.op = BACKWARD;
    for (size_t r = 0; r < REPLICAS; ++r)
        right.shards[r].dx = right.shards[r].dy;
    sbn_buffer shifted = right.shards[1].dy;
    --shifted.offset;
    const refusal rows[] = {
        ROW(shards[1].dx, shifted, "replica 1: dx is written and must not overlap dy"),
        ROW(shards[0].dx, right.shards[1].dy, "replica 1: dx must not overlap dx of replica 0"),
        ROW(shards[0].x, right.shards[0].dy, "replica 0: dx is written and must not overlap x"),
        ROW(shards[1].x, right.shards[0].dy, "replica 1: x must not overlap dx of replica 0"),
    };
    REFUSE_PASS(right, rows);
}

int main(void)
{
    if (stage_open())
        return fixture_missing();
    check_training();
    check_gradients();
    return stage_close();
}
