/* A layer moves from one replica to three and back, and is folded; one of another type loads kernels. */
#include "faults/scenario.h"
#include "faults/stand.h"

static sbn_folding foldings[REPLICAS];

/* Groups of one replica and of three. */
static void begin(void)
{
    slices_reset(at.slices, REPLICAS);
    stand_begin(0, 1);
    stand_begin(1, REPLICAS);
    for (size_t r = 0; r < REPLICAS; ++r) {
        const sbn_shard *s = &at.slices[r].shard;
        foldings[r] = FOLDING_WITH(.outer = SAMPLES, .inner = PLANE, .weight = s->x,
                                   .bias = s->weight, .norm_weight = s->weight,
                                   .norm_bias = s->bias, .folded_weight = s->y,
                                   .folded_bias = s->bias_grad, .event = &at.events[r]);
    }
}

/* Folding writes y, too, and one of the queues is out of order. */
static int forward(size_t replicas)
{
    sbn_shard shards[REPLICAS];
    for (size_t r = 0; r < replicas; ++r) {
        shards[r] = at.slices[r].shard;
        shards[r].num_wait = at.events[r] != NULL;
        shards[r].wait_list = &at.events[r];
    }
    return sbn_forward(at.layers[0], shards, at.saved[0], 0, NULL);
}

static int fold(void)
{
    events_release(at.events, REPLICAS);
    const int status = sbn_batchnorm_fold(at.layers[0], foldings);
    must(status && (at.events[0] || at.events[1] || at.events[2]), "events, and an error");
    return status;
}

static int step(int number)
{
    switch (number) {
    case 0: return stand_both(0, at.groups[0]);
    case 1: return forward(1);
    case 2: return fold();
    case 3: return sbn_batchnorm_set_group(at.layers[0], at.groups[1]);
    case 4: return fold();
    case 5: return forward(REPLICAS);
    case 6: return sbn_batchnorm_set_group(at.layers[0], at.groups[0]);
    default: return fold();
    }
}

static uint64_t result(void)
{
    return stand_running(stand_outputs(SBN_DIGEST_START, at.slices, REPLICAS), at.layers[0]);
}

/* An error of moving leaves the layer where it was. */
static uint64_t kept(int number)
{
    stand_finish();
    if (number == 0 || !stand_usable(at.groups[0]) || !stand_usable(at.groups[1]))
        return 0;
    const int where = sbn_batchnorm_group(at.layers[0]) == at.groups[1];
    return sbn__digest(stand_running(SBN_DIGEST_START, at.layers[0]), &where, sizeof where);
}

/* --- the first layer of its type, which then moves -------------------------------------- */

/* The second group has other programs. */
static void begin_first(void)
{
    stand_begin(0, REPLICAS);
    must(STAND_GROUP(1, .replicas = REPLICAS, .build_options = "-D SBN_TEST_ANOTHER=1"),
         "sbn_group_create");
}

static int step_first(int number)
{
    return number == 0 ? STAND_LAYER(0, at.groups[0], .type = SBN_BF16, .activation = SBN_RELU)
                       : sbn_batchnorm_set_group(at.layers[0], at.groups[1]);
}

/* Of a forward pass of ones, two of them in a float: the kernels work. */
static uint64_t first_result(void)
{
    sbn_shard shards[REPLICAS];
    slices_reset(at.more[0], REPLICAS);
    for (size_t r = 0; r < REPLICAS; ++r) {
        const slice *s = &at.more[0][r];
        buffer_fill(s, &s->shard.x, s->elements, 0x1.007fp+0f);
        shards[r] = s->shard;
        shards[r].x.offset *= 2;
        shards[r].y.offset *= 2;
    }
    must(stand_saved(0, at.layers[0]), "sbn_saved_create");
    must(sbn_forward(at.layers[0], shards, at.saved[0], 0, NULL), "sbn_forward");
    sbn_saved_destroy(at.saved[0]);
    at.saved[0] = NULL;
    return stand_outputs(SBN_DIGEST_START, at.more[0], REPLICAS);
}

/* An error makes no layer, and moves none. */
static uint64_t first_kept(int number)
{
    const sbn_group *where = at.layers[0] ? sbn_batchnorm_group(at.layers[0]) : NULL;
    return where == at.groups[number] ? 2 : 1;
}

const scenario layer_scenarios[] = {
    SCENARIO("moving and folding", .may_track = 1, .begin = begin, .step = step, .steps = 8,
             .kept = kept, .result = result, .end = stand_end, .survived = survived_waits),
    SCENARIO("the first layer of bfloat16 and a ReLU", .begin = begin_first, .step = step_first,
             .steps = 2, .kept = first_kept, .result = first_result, .end = stand_end,
             .survived = survived_waits),
    {.name = NULL},
};
