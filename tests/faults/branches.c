/* Several layers in one call: one in evaluation, one whose sums need the wide format. */
#include "faults/scenario.h"
#include "faults/stand.h"
#include "support/wraps.h"

enum { LAYERS = 3, STEPS = 4, OUTPUTS = 2 * LAYERS };

static sbn_group *group;
static sbn_batchnorm *layers[LAYERS];
static sbn_saved *saved[LAYERS];
static sbn_shard shards[LAYERS][REPLICAS];
static sbn_result results[LAYERS];

static void begin(void)
{
    stand_reset(REPLICAS);
    for (size_t r = 0; r < REPLICAS; ++r) {
        for (size_t i = 0; i < LAYERS; ++i) {
            const slice *to = &at.slices[r];
            if (i < LAYERS - 1) {
                to = &at.more[i][r];
                slice_reset(to);
            }
            shards[i][r] = to->shard;
        }
        shards[1][r].x = at.huge[r].shard.x;
        shards[1][r].dy = at.huge[r].shard.dy;
    }
    for (size_t i = 0; i < LAYERS; ++i)
        results[i] = (sbn_result)SBN_RESULT_INIT;
}

static void end(void)
{
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_saved_destroy(saved[i]);
        sbn_batchnorm_destroy(layers[i]);
        saved[i] = NULL;
        layers[i] = NULL;
    }
    sbn_group_destroy(group);
    group = NULL;
}

static int make(void)
{
    static const char *const names[LAYERS] = {"plain", "wide", "fixed"};
    int status = group ? SBN_SUCCESS : stand_group(REPLICAS, NULL, &group);
    for (size_t i = 0; i < LAYERS && !status; ++i) {
        status = layers[i] ? SBN_SUCCESS : stand_layer(group, names[i], &layers[i]);
        if (!status && !saved[i])
            status = sbn_saved_create(layers[i], &saved[i]);
    }
    return status ? status : sbn_batchnorm_set_frozen(layers[2], 1);
}

static int step(int number)
{
    sbn_branch branches[LAYERS];
    sbn_pass *pass;
    for (size_t i = 0; i < LAYERS; ++i)
        branches[i] = (sbn_branch){sizeof(sbn_branch), layers[i], shards[i], saved[i], 0};
    if (number == 0)
        return make();
    if (number == 1)
        return sbn_forward_branches(branches, LAYERS, results);
    if (number == 2)
        return sbn_backward_branches(branches, LAYERS, results);
    const int status = sbn_forward_branches_begin(branches, LAYERS, &pass);
    return status ? status : sbn_pass_end(pass, results);
}

static uint64_t result(void)
{
    uint64_t digest = stand_outputs(SBN_DIGEST_START, REPLICAS);
    for (size_t i = 0; i < LAYERS; ++i)
        digest = stand_running(digest, layers[i]);
    for (size_t i = 0; i < LAYERS - 1; ++i)
        for (size_t r = 0; r < REPLICAS; ++r) {
            const slice *s = &at.more[i][r];
            digest = digest_buffer(digest, s, &s->shard.y, s->elements);
            digest = digest_buffer(digest, s, &s->shard.dx, s->elements);
            digest = digest_buffer(digest, s, &s->shard.weight_grad, CHANNELS);
        }
    return sbn__digest(digest, results, sizeof results);
}

/* The frozen layer's outputs come last, and with all others or not at all. */
static uint64_t kept(int number)
{
    stand_finish();
    return number > 0 && stand_usable(group) ? result() : 0;
}

const scenario branch_scenarios[] = {
    {.name = "passes of three layers",
     .may_track = 2,
     .begin = begin,
     .step = step,
     .steps = STEPS,
     .kept = kept,
     .result = result,
     .end = end,
     .survived = survived_waits},
    {.name = NULL},
};
