/*
 * How passes of a layer follow each other: many forwards before their backwards, several under way; outputs
 * that are not wanted; masks; empty batches; evaluation by the batch. Of several layers: tests/pass/branches.c.
 */
#include "layer/batchnorm.h"
#include "support/main.h"
#include "support/ranks.h"
#include "support/refused.h"

enum { REPLICAS = 2, CHANNELS = 3, PLANE = 37, BATCHES = 5, PER_REPLICA = 2 };

static life usual;
static slice slices[BATCHES][REPLICAS];
static sbn_shard shards[BATCHES][REPLICAS];

static uint64_t digest_batch(int b)
{
    return digest_slices(SBN_DIGEST_START, slices[b], REPLICAS);
}

/*
 * Each batch forward and backward at once: what every other order must give too. Then all forwards before their
 * backwards in another order, in one call each and begun.
 */
static void check_orders(uint64_t right[BATCHES])
{
    static const int order[] = {3, 0, 4, 2, 1};
    sbn_saved *saved[BATCHES];
    for (int b = 0; b < BATCHES; ++b) {
        saved[b] = fixture_saved(usual.layer);
        must(sbn_forward(usual.layer, shards[b], saved[b], 0, NULL), "sbn_forward");
        must(sbn_backward(usual.layer, shards[b], saved[b], 0, NULL), "sbn_backward");
        right[b] = digest_batch(b);
    }
    const uint64_t running = digest_layer(SBN_DIGEST_START, usual.layer, NULL);
    for (int begun = 0; begun < 2; ++begun) {
        sbn_pass *passes[BATCHES];
        int ready = !begun, same = 0;
        slices_reset(slices[0], BATCHES * REPLICAS);
        sbn_batchnorm_reset_running_stats(usual.layer);
        for (int b = 0; b < BATCHES; ++b)
            must(begun ? sbn_forward_begin(usual.layer, shards[b], saved[b], 0, &passes[b])
                       : sbn_forward(usual.layer, shards[b], saved[b], 0, NULL),
                 "forward");
        for (int b = 0; b < BATCHES && begun; ++b)
            must(sbn_pass_end(passes[order[b]], NULL), "end");
        tap_ok(digest_layer(SBN_DIGEST_START, usual.layer, NULL) == running,
               "begun: %d: passes are combined in the order they began", begun);
        for (int b = 0; b < BATCHES; ++b) {
            const int of = order[b];
            must(begun ? sbn_backward_begin(usual.layer, shards[of], saved[of], 0, &passes[b])
                       : sbn_backward(usual.layer, shards[of], saved[of], 0, NULL),
                 "backward");
        }
        while (!ready)
            must(sbn_pass_progress(passes[BATCHES - 1], &ready), "progress");
        for (int b = BATCHES; b-- > 0 && begun;)
            must(sbn_pass_end(passes[b], NULL), "end");
        for (int b = 0; b < BATCHES; ++b)
            same += digest_batch(b) == right[b];
        tap_ok(same == BATCHES, "begun: %d: outputs of %d of %d passes", begun, same, BATCHES);
    }
    for (int b = 0; b < BATCHES; ++b)
        sbn_saved_destroy(saved[b]);
}

/* Has a pass given an event, which completes? It is gone then. */
static int has_come(cl_event *event)
{
    const int come = *event && clWaitForEvents(1, event) == CL_SUCCESS;
    events_release(event, 1);
    return come;
}

/* Some outputs, or none, then the others are those of both at once; each pass gives its events. */
static void check_unwanted(int frozen, uint64_t right)
{
    enum { SUBSETS = 8 };
    int come = 0, same = 0;
    must(sbn_batchnorm_set_frozen(usual.layer, frozen), "sbn_batchnorm_set_frozen");
    for (unsigned wanted = 0; wanted < SUBSETS; ++wanted) {
        slices_reset(slices[0], BATCHES * REPLICAS);
        must(sbn_forward(usual.layer, shards[0], usual.saved, 0, NULL), "sbn_forward");
        for (int others = 0; others < 2; ++others) {
            const unsigned some = others ? ~wanted : wanted;
            cl_event events[REPLICAS] = {NULL};
            sbn_shard few[REPLICAS];
            for (int r = 0; r < REPLICAS; ++r) {
                few[r] = shards[0][r];
                few[r].event = &events[r];
                few[r].dx.mem = some & 1 ? few[r].dx.mem : NULL;
                few[r].weight_grad.mem = some & 2 ? few[r].weight_grad.mem : NULL;
                few[r].bias_grad.mem = some & 4 ? few[r].bias_grad.mem : NULL;
            }
            must(sbn_backward(usual.layer, few, usual.saved, 0, NULL), "sbn_backward");
            for (int r = 0; r < REPLICAS; ++r)
                come += has_come(&events[r]);
        }
        right = right ? right : digest_batch(0);
        same += digest_batch(0) == right;
    }
    tap_ok(come == 2 * SUBSETS * REPLICAS && same == SUBSETS,
           "outputs that are not wanted stay: %d of %d times; %d of %d events", same, SUBSETS, come,
           2 * SUBSETS * REPLICAS);
}

/* A forward pass that is refused leaves the mask, also where it would have needed a larger one. */
static void check_mask(void)
{
    sbn_batchnorm *adds = LAYER_WITH(usual.group, .channels = CHANNELS,
                                     .activation = SBN_LEAKY_RELU, .residual = 1);
    sbn_saved *saved[] = {fixture_saved(adds), fixture_saved(adds)};
    sbn_shard small[REPLICAS], large[REPLICAS], bad[REPLICAS];
    uint64_t digests[4];
    for (int r = 0; r < REPLICAS; ++r) {
        large[r] = shards[0][r];
        large[r].residual = shards[1][r].x;
        small[r] = large[r];
        small[r].shape[0] = 1;
        bad[r] = large[r];
        bad[r].y.mem = NULL;
    }
    const sbn_branch branches[] = {{sizeof *branches, adds, large, saved[0], 0},
                                   {sizeof *branches, adds, bad, saved[1], 0}};
    for (int i = 0; i < 4; ++i) {
        const sbn_shard *of = i < 2 ? small : large;
        if (i == 1)
            REFUSED(sbn_forward_branches(branches, 2, NULL), "branches[1]|y: expected a buffer");
        else
            must(sbn_forward(adds, of, saved[i == 3], 0, NULL), "sbn_forward");
        slices_reset(slices[0], BATCHES * REPLICAS);
        must(sbn_backward(adds, of, saved[i == 3], 0, NULL), "sbn_backward");
        digests[i] = digest_batch(0);
    }
    tap_ok(digests[1] == digests[0], "the first layer's mask is what it was");
    tap_ok(digests[2] == digests[3], "a mask that has grown serves as a new one");
    must(sbn_saved_destroy(saved[0]), "sbn_saved_destroy");
    fixture_end(adds, saved[1]);
}

/* No samples, then no positions, behind a batch: nothing changes. Gradients: tests/pass/judged.c. */
static void check_empty(void)
{
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_AUTO), .channels = CHANNELS);
    const slice s = slices[0][0];
    float mean[CHANNELS], var[CHANNELS];
    l.layer->group->combines = 0;
    must(sbn_forward(l.layer, &s.shard, l.saved, 0, NULL), "sbn_forward");
    const uint64_t running = digest_layer(SBN_DIGEST_START, l.layer, NULL);
    for (int i = 0; i < 2; ++i) {
        sbn_shard none = s.shard;
        cl_event event = NULL;
        sbn_result result = SBN_RESULT_INIT;
        uint64_t count = 77;
        none.shape[i ? 2 : 0] = 0;
        none.event = &event;
        none.wait_list = &event; /* of no events: OpenCL alone would refuse the pair */
        none.x.mem = none.y.mem = i ? NULL : none.x.mem;
        slice_reset(&s);
        RIGHT(sbn_forward(l.layer, &none, l.saved, 0, &result));
        must(sbn_saved_stats(l.saved, mean, var, &count), "sbn_saved_stats");
        tap_ok(result.count == 0 && count == 0 && result.synchronised && mean[0] == 0 &&
                   var[0] == 0,
               "it has no values");
        tap_ok(digest_layer(SBN_DIGEST_START, l.layer, NULL) == running && slice_untouched(&s),
               "nothing has changed");
        tap_ok(has_come(&event), "its event completes");
        RIGHT(sbn_backward(l.layer, &none, l.saved, 0, &result));
        tap_ok(has_come(&event), "its event completes");
        RIGHT(sbn_evaluate(l.layer, &none));
        tap_ok(has_come(&event), "its event completes");
    }
    fixture_die(&l);
}

/* By the statistics of a batch of all ranks. */
static int evaluate_untracked(test_rank *m)
{
    sbn_batchnorm *untracked = LAYER_WITH(m->group, .channels = RANK_CHANNELS,
                                          .track_running_stats = OFF);
    rank_says(m, sbn_evaluate(untracked, m->shards));
    must(slice_untouched(&m->slices[0]), "evaluation writes y");
    must(sbn_batchnorm_destroy(untracked), "sbn_batchnorm_destroy");
    return m->status;
}

void checks(void)
{
    usual = LIVE_WITH(fixture_group(queue, REPLICAS, SBN_FORM_AUTO), .channels = CHANNELS);
    for (int b = 0; b < BATCHES; ++b)
        slices_open(slices[b], shards[b], REPLICAS, &device, queue, PER_REPLICA, CHANNELS, PLANE,
                    20u + (unsigned)b);
    uint64_t right[BATCHES];
    check_orders(right);
    check_unwanted(1, 0);
    check_unwanted(0, right[0]);
    check_mask();
    check_empty();
    ranks_same_bits(&device, evaluate_untracked, "evaluation by batch statistics");
    slices_close(slices[0], BATCHES * REPLICAS);
    fixture_die(&usual);
}
