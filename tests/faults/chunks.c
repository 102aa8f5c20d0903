/* Passes of one replica a few channels at a time, by the devices. */
#include "faults/scenario.h"
#include "faults/stand.h"
#include "support/wraps.h"

/*
 * On a device that says it is small. A plane of an odd number of elements begins within a cache
 * line, and has more blocks than the passes in one launch have room for (sbn__plan_whole).
 */
enum { CHUNKED = 520, LARGE_PLANE = 1025, STEPS = 3 };
static const cl_ulong cache = 1050000;
static const cl_uint units = 2;

static sbn_group *group;
static sbn_batchnorm *layer;
static sbn_saved *saved;
static slice large;

static void begin(void)
{
    slice_open(&large, &at.device, at.queues[0], 0, 1, CHUNKED, LARGE_PLANE, 4);
    wraps_device_says(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &cache, sizeof cache);
    wraps_device_says(CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    must(stand_group(1, NULL, &group), "sbn_group_create");
    wraps_device_says(0, NULL, 0);
}

static void end(void)
{
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    saved = NULL;
    layer = NULL;
    wraps_pause();
    slice_close(&large);
    wraps_resume();
}

static int make(void)
{
    const int status = layer ? SBN_SUCCESS
                             : stand_layer_of(group, "layer", CHUNKED, SBN_F32, &layer);
    return status || saved ? status : sbn_saved_create(layer, &saved);
}

/* A chunk has five launches; a pass that is made whole has no more. */
static int in_chunks(int status, long before)
{
    const long launches = wraps_calls(WRAP_LAUNCH) - before;
    if (!status && launches <= 5)
        tap_ok(0, "%ld launches are no chunks", launches);
    return status;
}

static int step(int number)
{
    const long before = wraps_calls(WRAP_LAUNCH);
    switch (number) {
    case 0: return make();
    case 1: return in_chunks(sbn_forward(layer, &large.shard, saved, 0, NULL), before);
    default:
        return in_chunks(sbn_backward(layer, &large.shard, saved, SBN_ACCUMULATE_GRADIENTS, NULL),
                         before);
    }
}

static uint64_t running(void)
{
    float values[2][CHUNKED];
    int64_t batches;
    must(sbn_batchnorm_running_stats(layer, values[0], values[1], &batches), "running statistics");
    return digest_of(digest_of(DIGEST_START, values, sizeof values), &batches, sizeof batches);
}

static uint64_t gradients(uint64_t digest)
{
    digest = digest_buffer(digest, &large, &large.shard.weight_grad, CHUNKED);
    return digest_buffer(digest, &large, &large.shard.bias_grad, CHUNKED);
}

static uint64_t result(void)
{
    if (!layer)
        return 0;
    stand_finish();
    const uint64_t digest = digest_buffer(running(), &large, &large.shard.y, large.elements);
    return gradients(digest_buffer(digest, &large, &large.shard.dx, large.elements));
}

/* Of chunks that were written before a command was refused, y and dx are undefined. */
static uint64_t kept(int number)
{
    (void)number;
    stand_finish();
    return layer && stand_usable(group) ? gradients(running()) : 0;
}

const scenario chunk_scenarios[] = {
    {.name = "passes in chunks",
     .may_track = 1,
     .begin = begin,
     .step = step,
     .steps = STEPS,
     .kept = kept,
     .result = result,
     .end = end,
     .survived = survived_waits,
     .slow = 1},
    {.name = NULL},
};
