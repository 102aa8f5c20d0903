/* A layer moves from one replica to three and back, and is folded; one loads kernels of its type. */
#include "faults/scenario.h"
#include "faults/stand.h"
#include "support/wraps.h"

static sbn_group *groups[2]; /* of one replica and of three */
static sbn_batchnorm *layer;
static sbn_saved *saved;
static sbn_folding foldings[REPLICAS];
static cl_event folded[REPLICAS];

static void begin(void)
{
    stand_reset(REPLICAS);
    must(stand_group(1, NULL, &groups[0]), "sbn_group_create");
    must(stand_group(REPLICAS, NULL, &groups[1]), "sbn_group_create");
    for (size_t r = 0; r < REPLICAS; ++r) {
        const sbn_shard *s = &at.slices[r].shard;
        foldings[r] = (sbn_folding){
            .size = sizeof(sbn_folding),
            .outer = SAMPLES,
            .inner = PLANE,
            .weight = s->x,
            .bias = s->weight,
            .norm_weight = s->weight,
            .norm_bias = s->bias,
            .folded_weight = s->y,
            .folded_bias = s->bias_grad,
            .event = &folded[r],
        };
    }
}

static void end(void)
{
    stand_release(folded);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(groups[0]);
    sbn_group_destroy(groups[1]);
    saved = NULL;
    layer = NULL;
}

static int make(void)
{
    int status = layer ? SBN_SUCCESS : stand_layer(groups[0], "layer", &layer);
    if (!status && !saved)
        status = sbn_saved_create(layer, &saved);
    return status;
}

/* Folding writes y, too, and one of the queues is out of order. */
static int forward(size_t replicas)
{
    sbn_shard shards[REPLICAS];
    for (size_t r = 0; r < replicas; ++r) {
        shards[r] = at.slices[r].shard;
        shards[r].num_wait = folded[r] != NULL;
        shards[r].wait_list = &folded[r];
    }
    return sbn_forward(layer, shards, saved, 0, NULL);
}

static int fold(void)
{
    stand_release(folded);
    return sbn_batchnorm_fold(layer, foldings);
}

static int step(int number)
{
    switch (number) {
    case 0: return make();
    case 1: return forward(1);
    case 2: return fold();
    case 3: return sbn_batchnorm_set_group(layer, groups[1]);
    case 4: return fold();
    case 5: return forward(REPLICAS);
    case 6: return sbn_batchnorm_set_group(layer, groups[0]);
    default: return fold();
    }
}

static uint64_t result(void)
{
    return stand_running(stand_outputs(SBN_DIGEST_START, REPLICAS), layer);
}

/* An error of moving leaves the layer where it was. */
static uint64_t kept(int number)
{
    stand_finish();
    if (number == 0 || !stand_usable(groups[0]) || !stand_usable(groups[1]))
        return 0;
    const int where = sbn_batchnorm_group(layer) == groups[1];
    return sbn__digest(stand_running(SBN_DIGEST_START, layer), &where, sizeof where);
}

/* --- the first layer of its type ---------------------------------------------------------- */

static void begin_first(void)
{
    must(stand_group(REPLICAS, NULL, &groups[1]), "sbn_group_create");
}

static void end_first(void)
{
    end();
    groups[1] = NULL;
}

static int make_first(int step)
{
    (void)step;
    return stand_layer_of(groups[1], "layer", SBN_BF16, &layer);
}

/* Of a forward pass: the kernels work. */
static uint64_t first_result(void)
{
    sbn_shard shards[REPLICAS];
    for (size_t r = 0; r < REPLICAS; ++r) {
        slice_reset(&at.narrow[r]);
        shards[r] = at.narrow[r].shard;
        shards[r].x.offset *= 2;
        shards[r].y.offset *= 2;
    }
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
    sbn_saved_destroy(saved);
    saved = NULL;
    return stand_outputs_of(SBN_DIGEST_START, at.narrow, REPLICAS);
}

static uint64_t no_layer(int number)
{
    (void)number;
    return 1 + (layer != NULL);
}

/* --- a residual and a ReLU, with the mask in saved statistics; backward from the output ----- */

static sbn_shard fused_shards[REPLICAS];

static void begin_fused(void)
{
    stand_reset(REPLICAS);
    must(stand_group(REPLICAS, NULL, &groups[1]), "sbn_group_create");
    for (size_t r = 0; r < REPLICAS; ++r) {
        fused_shards[r] = at.slices[r].shard;
        fused_shards[r].residual = at.slices[r].shard.dy;
    }
}

/* A step of a layer with these settings. */
static int step_of(int number, sbn_batchnorm_config config)
{
    config.name = "layer";
    config.channels = CHANNELS;
    if (number == 1)
        return sbn_forward(layer, fused_shards, saved, SBN_KEEP_RUNNING_STATS, NULL);
    if (number == 2)
        return sbn_backward(layer, fused_shards, saved, 0, NULL);
    const int status = layer ? SBN_SUCCESS : sbn_batchnorm_create(groups[1], &config, &layer);
    return status || saved ? status : sbn_saved_create(layer, &saved);
}

static int step_fused(int number)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.activation = SBN_RELU;
    config.residual = 1;
    return step_of(number, config);
}

/* Backward from the output: weight and bias are read before the forward pass. */
static int step_output(int number)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.from_output = 1;
    return step_of(number, config);
}

static uint64_t fused_result(void)
{
    return stand_outputs(SBN_DIGEST_START, REPLICAS);
}

const scenario layer_scenarios[] = {
    {.name = "moving and folding",
     .may_track = 1,
     .begin = begin,
     .step = step,
     .steps = 8,
     .kept = kept,
     .result = result,
     .end = end,
     .survived = survived_waits},
    {.name = "the first layer of bfloat16",
     .begin = begin_first,
     .step = make_first,
     .steps = 1,
     .kept = no_layer,
     .result = first_result,
     .end = end_first},
    {.name = "a residual and a ReLU",
     .begin = begin_fused,
     .step = step_fused,
     .steps = 3,
     .result = fused_result,
     .end = end_first,
     .survived = survived_waits},
    {.name = "backward from the output",
     .begin = begin_fused,
     .step = step_output,
     .steps = 3,
     .result = fused_result,
     .end = end_first,
     .survived = survived_waits},
    {.name = NULL},
};
