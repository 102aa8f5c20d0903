/*
 * Frozen layers need no other rank and update nothing; what is not wanted is not read; which passes are frozen. Their
 * values: tests/pass/judged.c; however the batch is split, the bits are the same: tests/pass/same.
 */
#include "support/main.h"
#include "support/ranks.h"
#include "support/refused.h"

static slice data;

static life make_frozen(sbn_group *group)
{
    const life l = LIVE_WITH(group, .channels = RANK_CHANNELS, .name = "frozen");
    must(sbn_batchnorm_set_frozen(l.layer, 1), "sbn_batchnorm_set_frozen");
    return l;
}

static uint64_t digest_of_buffer(const sbn_buffer *buffer)
{
    return digest_buffer(SBN_DIGEST_START, &data, buffer, data.elements);
}

/* A rank of two whose other never comes; weight and bias trained, or not. */
static void check_alone(void)
{
    const life l = make_frozen(GROUP_WITH(&queue, .transport = &fixture_unanswered));
    const sbn_shard all = data.shard;
    sbn_shard without = all, few = all;
    sbn_result result = SBN_RESULT_INIT;
    sbn_pass *pass;
    int ready = 0;
    must(sbn_forward_begin(l.layer, &all, l.saved, 0, &pass), "begin");
    must(sbn_pass_progress(pass, &ready), "progress");
    tap_ok(ready == 1, "a frozen forward pass is ready at once");
    REFUSED(sbn_batchnorm_set_frozen(l.layer, 0), "frozen|under way|freezing");
    RIGHT(sbn_batchnorm_set_training(l.layer, 1));
    must(sbn_pass_end(pass, &result), "end");
    tap_ok(result.count == data.samples * data.plane && result.synchronised &&
               fixture_batches(l.layer) == 0,
           "its count is this rank's, and no batch was tracked");
    must(sbn_backward(l.layer, &all, l.saved, 0, NULL), "sbn_backward");
    without.x.mem = NULL;
    REFUSED(sbn_backward(l.layer, &without, l.saved, 0, NULL), "x: expected a buffer");
    REFUSED(sbn_backward(l.layer, &all, l.saved, SBN_KEEP_RUNNING_STATS, NULL),
            "^frozen backward of layer|, rank 0: flags: expected");
    REFUSED(sbn_backward(l.layer, &all, NULL, 0, NULL),
            "^frozen backward of layer|, rank 0: saved: expected");
    REFUSED(sbn_backward(l.layer, NULL, l.saved, 0, NULL),
            "^frozen backward of layer|, rank 0: shards: expected 1, got NULL");

    /* A single value is enough; an empty batch too. */
    few.shape[2] = 1;
    for (few.shape[0] = 0; few.shape[0] < 2; ++few.shape[0]) {
        RIGHT(sbn_forward(l.layer, &few, l.saved, 0, NULL));
        RIGHT(sbn_backward(l.layer, &few, l.saved, 0, NULL));
    }
    tap_ok(fixture_unanswered_calls == 0, "the transport was not called");

    /* The group fails: frozen passes go on, and so does evaluation. */
    must(sbn_batchnorm_set_frozen(l.layer, 0), "release");
    expect(sbn_forward(l.layer, &all, l.saved, 0, NULL), SBN_TRANSPORT_ERROR, "start",
           "released, it communicates");
    must(sbn_batchnorm_set_training(l.layer, 0), "evaluation");
    RIGHT(sbn_forward(l.layer, &all, l.saved, 0, NULL));
    RIGHT(sbn_backward(l.layer, &all, l.saved, 0, NULL));
    fixture_die(&l);
}

/*
 * What a backward pass whose weight and bias are not trained does without, whatever the shard says of it: the bias,
 * and x where it is frozen, unless they give the sign before an activation. The mask that a residual leaves has that.
 */
static void check_unread(sbn_kernel_form form, sbn_activation activation, int residual)
{
    static const char *const words[] = {"bias: expected a buffer, got NULL",
                                        "frozen backward|x: expected a buffer, got NULL"};
    const int status = activation && !residual ? SBN_INVALID_ARGUMENT : SBN_SUCCESS;
    const life l = LIVE_WITH(fixture_group(queue, 1, form), .channels = RANK_CHANNELS,
                             .activation = activation, .residual = residual);
    sbn_shard all = data.shard;
    all.residual = all.dy;
    all.weight_grad.mem = all.bias_grad.mem = NULL;
    for (int way = 0; way < 4; ++way) {
        const int frozen = way % 2, is_far = way / 2 && !status;
        sbn_shard few = all;
        *(frozen ? &few.x : &few.bias) = is_far ? (sbn_buffer){(cl_mem)l.group, (size_t)1 << 44}
                                                : (sbn_buffer)SBN_BUFFER_INIT;
        must(sbn_batchnorm_set_frozen(l.layer, frozen), "sbn_batchnorm_set_frozen");
        fixture_train(&l, &all);
        const uint64_t right = digest_of_buffer(&data.shard.dx);
        slice_reset(&data);
        expect(sbn_backward(l.layer, &few, l.saved, 0, NULL), status, words[frozen],
               frozen ? "without x" : "without bias");
        tap_ok(status || digest_of_buffer(&data.shard.dx) == right, "and the same dx");
    }
    fixture_die(&l);
}

/* The training flag is not the frozen one. */
static void check_flags(void)
{
    const life l = make_frozen(fixture_group(queue, 1, SBN_FORM_AUTO));
    tap_ok(sbn_batchnorm_is_training(l.layer) && sbn_batchnorm_is_frozen(l.layer),
           "frozen, in training");
    must(sbn_batchnorm_set_training(l.layer, 0), "train");
    must(sbn_batchnorm_set_training(l.layer, 1), "train");
    fixture_train(&l, &data.shard);
    const uint64_t right = digest_of_buffer(&data.shard.dx), y = digest_of_buffer(&data.shard.y);
    tap_ok(fixture_batches(l.layer) == 0, "train does not release");
    slice_reset(&data);
    must(sbn_evaluate(l.layer, &data.shard), "sbn_evaluate");
    tap_ok(digest_of_buffer(&data.shard.y) == y, "evaluation gives the same bits");
    must(sbn_batchnorm_set_frozen(l.layer, 0), "freeze");
    slice_reset(&data);
    must(sbn_backward(l.layer, &data.shard, l.saved, 0, NULL), "sbn_backward");
    tap_ok(digest_of_buffer(&data.shard.dx) == right,
           "the frozen pass's backward is still that of constants");
    must(sbn_forward(l.layer, &data.shard, l.saved, 0, NULL), "sbn_forward");
    tap_ok(fixture_batches(l.layer) == 1, "released, it trains");
    REFUSED(sbn_batchnorm_set_training(l.layer, 2), "training|0 or 1|got 2");
    REFUSED(sbn_batchnorm_set_frozen(NULL, 1), "layer|NULL");
    fixture_die(&l);
}

/* A layer twice in a call, with other running statistics each time. */
static void check_given_twice(void)
{
    const life l = make_frozen(fixture_group(queue, 1, SBN_FORM_AUTO));
    sbn_saved *saved[] = {l.saved, fixture_saved(l.layer)};
    sbn_shard shards[2];
    sbn_branch branches[2];
    const float values[2][RANK_CHANNELS] = {{1, 1, 1}, {2, 2, 2}};
    float mean[RANK_CHANNELS];
    for (int i = 0; i < 2; ++i) {
        shards[i] = data.shard;
        shards[i].running_mean = shards[i].running_var = buffer_of(&device, queue, values[i],
                                                                   RANK_CHANNELS);
        branches[i] = (sbn_branch){sizeof *branches, l.layer, &shards[i], saved[i], 0};
    }
    shards[1].y = shards[1].dx;
    must(sbn_forward_branches(branches, 2, NULL), "sbn_forward_branches");
    for (int i = 0; i < 2; ++i) {
        must(sbn_saved_stats(saved[i], mean, NULL, NULL), "sbn_saved_stats");
        tap_ok(mean[0] == (float)(i + 1), "branch %d is normalised by its mean, %d: got %g", i,
               i + 1, mean[0]);
        clReleaseMemObject(shards[i].running_mean.mem);
    }
    must(sbn_saved_destroy(saved[1]), "sbn_saved_destroy");
    fixture_die(&l);
}

/* The second layer: what is saved of a frozen one has the count of its rank. */
static int train_frozen(test_rank *m)
{
    must(sbn_batchnorm_set_frozen(m->second, 1), "sbn_batchnorm_set_frozen");
    must(sbn_forward(m->second, m->shards, m->second_saved, 0, NULL), "sbn_forward");
    return rank_says(m, sbn_backward(m->second, m->shards, m->second_saved, SBN_GLOBAL_GRADIENTS,
                                     NULL));
}

/* Where a frozen layer occurs is each rank's affair: rank 1 makes its pass beside another layer's, frozen or not. */
static int train_beside(test_rank *m)
{
    sbn_shard beside = m->shards[0];
    beside.y = beside.dx;
    const sbn_branch both[] = {{sizeof *both, m->layer, m->shards, m->saved, 0},
                               {sizeof *both, m->second, &beside, m->second_saved, 0}};
    must(sbn_forward_branches(both, 2, NULL), "a pass before");
    must(sbn_batchnorm_set_frozen(m->second, 1), "sbn_batchnorm_set_frozen");
    int status = SBN_SUCCESS;
    for (int frozen = 1; frozen >= 0 && !status; --frozen) {
        must(sbn_batchnorm_set_frozen(m->layer, frozen), "sbn_batchnorm_set_frozen");
        must(sbn_forward_branches(both, 1 + (size_t)m->rank, NULL), "sbn_forward_branches");
        if (m->rank == 0)
            must(sbn_forward_branches(&both[1], 1, NULL), "sbn_forward_branches");
        status = sbn_backward(m->second, m->shards, m->second_saved, SBN_GLOBAL_GRADIENTS, NULL);
    }
    return rank_says(m, status);
}

void checks(void)
{
    slice_open(&data, &device, queue, 0, 3, RANK_CHANNELS, RANK_PLANE, 9);
    check_alone();
    check_flags();
    check_given_twice();
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        check_unread(form, SBN_IDENTITY, 0);
        check_unread(form, SBN_RELU, 0);
        check_unread(form, SBN_RELU, 1);
    }
    slice_close(&data);
    ranks_same_bits(&device, train_frozen, "the group's gradients, frozen");
    ranks_digest_of(&device, 2, NULL, NULL, train_beside, "frozen beside another layer on a rank");
}
