/*
 * Frozen layers against PyTorch's float64: output, dx, gradients of weight and
 * bias. No other rank is needed (frozen_alone.c), and nothing is updated. However
 * the batch is split, the bits are the same: tests/pass/same.
 */
#include <math.h>
#include <string.h>

#include "pass/frozen.h"
#include "support/ranks.h"

/* Forward and backward: PyTorch's values. */
static void check_values(const char *name)
{
    sbn_group *group = make_group(NULL);
    example e;
    sbn_result result = SBN_RESULT_INIT;
    int64_t tracked;
    example_open(&e, name, group);
    expect(sbn_forward(e.layer, &e.s.shard, e.saved, 0, &result), SBN_SUCCESS, "", name);
    tap_ok(result.count == SAMPLES * PLANE && result.synchronised, "its count is this rank's");
    expect(sbn_backward(e.layer, &e.s.shard, e.saved, SBN_GLOBAL_GRADIENTS, NULL), SBN_SUCCESS, "",
           "its backward pass");
    /* Five roundings of y, three of dx; a block's sums have a few units per gradient. */
    expect_tensor(&e, &e.s.shard.y, "y", 6);
    expect_tensor(&e, &e.s.shard.dx, "dx", 4);
    if (strcmp(name, "affine") == 0) {
        expect_tensor(&e, &e.s.shard.weight_grad, "weight_grad", 8);
        expect_tensor(&e, &e.s.shard.bias_grad, "bias_grad", 8);
    }
    must(sbn_batchnorm_running_stats(e.layer, NULL, NULL, &tracked), "get");
    tap_ok(tracked == 0, "no batch was tracked");
    /* Evaluation and recomputation: the same bits. */
    const uint64_t y = digest_buffer(DIGEST_START, &e.s, &e.s.shard.y, ELEMENTS);
    buffer_fill(&e.s, &e.s.shard.y, ELEMENTS, PATTERN);
    must(sbn_evaluate(e.layer, &e.s.shard), "sbn_evaluate");
    const uint64_t evaluated = digest_buffer(DIGEST_START, &e.s, &e.s.shard.y, ELEMENTS);
    buffer_fill(&e.s, &e.s.shard.y, ELEMENTS, PATTERN);
    must(sbn_recompute(e.layer, &e.s.shard, e.saved), "sbn_recompute");
    tap_ok(evaluated == y && digest_buffer(DIGEST_START, &e.s, &e.s.shard.y, ELEMENTS) == y,
           "evaluation and recomputation give the same bits");
    example_close(&e);
    sbn_group_destroy(group);
}

/* The training flag is not the frozen one. */
static void check_flags(void)
{
    sbn_group *group = make_group(NULL);
    example e;
    int64_t tracked;
    example_open(&e, "affine", group);
    tap_ok(sbn_batchnorm_is_training(e.layer) && sbn_batchnorm_is_frozen(e.layer),
           "frozen, in training");
    must(sbn_batchnorm_set_training(e.layer, 0), "train");
    must(sbn_batchnorm_set_training(e.layer, 1), "train");
    must(sbn_forward(e.layer, &e.s.shard, e.saved, 0, NULL), "sbn_forward");
    must(sbn_batchnorm_running_stats(e.layer, NULL, NULL, &tracked), "get");
    tap_ok(tracked == 0, "train does not release");
    must(sbn_batchnorm_set_frozen(e.layer, 0), "freeze");
    /* The frozen pass's backward is still that of constants. */
    must(sbn_backward(e.layer, &e.s.shard, e.saved, 0, NULL), "sbn_backward");
    expect_tensor(&e, &e.s.shard.dx, "dx", 4);
    must(sbn_forward(e.layer, &e.s.shard, e.saved, 0, NULL), "sbn_forward");
    must(sbn_batchnorm_running_stats(e.layer, NULL, NULL, &tracked), "get");
    tap_ok(tracked == 1, "released, it trains");
    expect(sbn_batchnorm_set_training(e.layer, 2), SBN_INVALID_ARGUMENT, "training|0 or 1|got 2",
           "train 2");
    expect(sbn_batchnorm_set_frozen(NULL, 1), SBN_INVALID_ARGUMENT, "layer|NULL", "freeze NULL");
    example_close(&e);
    sbn_group_destroy(group);
}

static int freeze_one(test_rank *m)
{
    /* Rank 1 forgets. */
    if (m->rank == 0)
        sbn_batchnorm_set_frozen(m->layer, 1);
    sbn_batchnorm_set_frozen(m->second, 1);
    const int status = sbn_forward(m->second, m->shards, m->second_saved, 0, NULL);
    if (status)
        return rank_says(m, status);
    return rank_says(m, sbn_backward(m->second, m->shards, m->second_saved, SBN_GLOBAL_GRADIENTS,
                                     NULL));
}

static int disagree(test_rank *m)
{
    int status = SBN_SUCCESS;
    if (m->rank == 0)
        status = sbn_backward(m->second, m->shards, m->second_saved, SBN_GLOBAL_GRADIENTS, NULL);
    else
        status = sbn_forward(m->layer, m->shards, m->saved, 0, NULL);
    return rank_says(m, status);
}

/* Gradients of the group over two threads; and one that is not frozen is named. */
static void check_ranks(void)
{
    const size_t ones[] = {1, 1}, samples[] = {2, 3};
    test_ranks all;
    ranks_open(&all, &frozen_device, 2, ones, samples, NULL);
    ranks_do(&all, freeze_one);
    float gradients[2][2 * RANK_CHANNELS];
    for (int rank = 0; rank < 2; ++rank) {
        const slice *s = &all.of[rank].slices[0];
        rank_expect(&all.of[rank], SBN_SUCCESS, "", "the group's gradients, frozen");
        must(clFinish(s->queue), "clFinish");
        buffer_read(s, &s->shard.weight_grad, RANK_CHANNELS, gradients[rank]);
        buffer_read(s, &s->shard.bias_grad, RANK_CHANNELS, gradients[rank] + RANK_CHANNELS);
    }
    double sum = 0.0;
    for (size_t k = 0; k < 5 * RANK_PLANE; ++k)
        sum += (double)batch_dy(9, k / RANK_PLANE, 0, k % RANK_PLANE);
    tap_ok(!memcmp(gradients[0], gradients[1], sizeof gradients[0]) &&
               fabs(gradients[0][RANK_CHANNELS] - sum) < 1e-4,
           "both have the sum over both: %g, expected %g", (double)gradients[0][RANK_CHANNELS],
           sum);
    ranks_do(&all, disagree);
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_DISAGREEMENT, "rank 0|frozen backward|rank 1|forward",
                    "one is frozen, the other not");
    ranks_close(&all);
}

static void checks(void)
{
    check_values("affine");
    check_values("plain");
    check_alone();
    check_flags();
    check_ranks();
}

int main(void)
{
    return fixture_main(&frozen_device, &frozen_queue, checks);
}
