/* Several layers in one call: one in evaluation, one whose sums need the wide format. */
#include "faults/scenario.h"
#include "faults/stand.h"

static sbn_shard shards[LAYERS][REPLICAS];
static sbn_result results[LAYERS];

static void begin(void)
{
    for (size_t i = 0; i < LAYERS; ++i) {
        slices_reset(at.more[i], REPLICAS);
        for (size_t r = 0; r < REPLICAS; ++r) {
            shards[i][r] = at.more[i][r].shard;
            if (i == 1) {
                shards[i][r].x = at.huge[r].shard.x;
                shards[i][r].dy = at.huge[r].shard.dy;
            }
        }
        results[i] = (sbn_result)SBN_RESULT_INIT;
    }
}

static int make(void)
{
    int status = STAND_GROUP(0, .replicas = REPLICAS);
    for (size_t i = 0; i < LAYERS && !status; ++i)
        status = stand_both(i, at.groups[0]);
    return status ? status : sbn_batchnorm_set_frozen(at.layers[2], 1);
}

static int step(int number)
{
    sbn_branch branches[LAYERS];
    sbn_pass *pass;
    for (size_t i = 0; i < LAYERS; ++i)
        branches[i] = (sbn_branch){sizeof(sbn_branch), at.layers[i], shards[i], at.saved[i], 0};
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
    uint64_t digest = SBN_DIGEST_START;
    for (size_t i = 0; i < LAYERS; ++i)
        digest = stand_outputs(stand_running(digest, at.layers[i]), at.more[i], REPLICAS);
    return sbn__digest(digest, results, sizeof results);
}

/* The frozen layer's outputs come last, and with all others or not at all. */
static uint64_t kept(int number)
{
    stand_finish();
    return number > 0 && stand_usable(at.groups[0]) ? result() : 0;
}

const scenario branch_scenarios[] = {
    SCENARIO("passes of three layers", .may_track = 2, .begin = begin, .step = step, .steps = 4,
             .kept = kept, .result = result, .end = stand_end, .survived = survived_waits),
    {.name = NULL},
};
