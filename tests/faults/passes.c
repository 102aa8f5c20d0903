/* The life of a layer: passes of every kind, on one replica and on three, begun and ended. */
#include <stdio.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "group/group.h"
#include "support/wraps.h"

static sbn_group *group;
static sbn_batchnorm *layer;
static sbn_saved *saved, *other;
static sbn_shard shards[REPLICAS], huge[REPLICAS], beside[REPLICAS];
static cl_event events[REPLICAS];
static size_t replicas, first_queue;
static int host_combines;
static sbn_kernel_form form;
static sbn_type type;
static const slice *slices;
static unsigned char bytes[1 << 12];
static size_t size;

/* The same bytes in elements of half the size. */
static void halve(sbn_shard *shard)
{
    sbn_buffer *const tensors[] = {&shard->x, &shard->y, &shard->dy, &shard->dx};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i)
        tensors[i]->offset *= 2;
}

static void begin(size_t count, sbn_type of)
{
    replicas = count;
    first_queue = 0;
    host_combines = 0;
    form = SBN_FORM_AUTO;
    type = of;
    slices = of == SBN_F32 ? at.slices : at.narrow;
    for (size_t r = 0; r < count; ++r) {
        slice_reset(&slices[r]);
        shards[r] = slices[r].shard;
        huge[r] = shards[r];
        huge[r].x = at.huge[r].shard.x;
        huge[r].dy = at.huge[r].shard.dy;
        beside[r] = at.huge[r].shard;
        if (type != SBN_F32) {
            halve(&shards[r]);
            halve(&huge[r]);
        }
        shards[r].event = &events[r];
    }
}

static void begin_one(void)
{
    begin(1, SBN_F32);
}

static void begin_three(void)
{
    begin(REPLICAS, SBN_F32);
}

static void begin_three_on_host(void)
{
    begin_three();
    host_combines = 1;
}

/* On the queue that keeps no order. */
static void begin_unordered(void)
{
    begin_one();
    first_queue = 1;
}

static void begin_unordered_on_host(void)
{
    begin_unordered();
    host_combines = 1;
}

/* Its reductions are programs that passes build. */
static void begin_gpu_form(void)
{
    begin_one();
    form = SBN_FORM_GPU;
}

static void begin_narrow(void)
{
    begin(1, SBN_BF16);
}

static void end(void)
{
    stand_release(events);
    sbn_saved_destroy(saved);
    sbn_saved_destroy(other);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    saved = other = NULL;
    layer = NULL;
    group = NULL;
}

/* A pass gives events where it succeeds, and none where it fails. */
static int with_events(int status)
{
    int given = 0;
    wraps_pause();
    for (size_t r = 0; r < replicas; ++r) {
        given += events[r] != NULL;
        if (events[r]) {
            must(clWaitForEvents(1, &events[r]), "clWaitForEvents");
            clReleaseEvent(events[r]);
        }
        events[r] = NULL;
    }
    wraps_resume();
    if (given != (status ? 0 : (int)replicas))
        tap_ok(0, "%d events, and %s", given, sbn_strerror(status));
    return status;
}

static int make(void)
{
    int status = group ? SBN_SUCCESS : stand_group_from(first_queue, replicas, form, NULL, &group);
    if (!status)
        group->combines = group->combines && !host_combines;
    if (!status && !layer)
        status = stand_layer_of(group, "layer", type, &layer);
    if (!status && !saved)
        status = sbn_saved_create(layer, &saved);
    if (!status && !other)
        status = sbn_saved_create(layer, &other);
    return status;
}

static int set_running(void)
{
    const float mean[CHANNELS] = {0.5f, -1, 2, 0, 1}, var[CHANNELS] = {1, 2, 3, 4, 5};
    const int64_t batches = 7;
    return sbn_batchnorm_set_running_stats(layer, mean, var, &batches);
}

/* The first pass is an evaluation, which needs the least memory; what is saved goes through bytes. */
enum { STEPS = 15, LAST_COMBINING = 12 };

static int step(int number)
{
    const unsigned global = SBN_GLOBAL_GRADIENTS | SBN_ACCUMULATE_GRADIENTS;
    float mean[CHANNELS];
    /* All write the same tensors. */
    wraps_pause();
    stand_finish();
    wraps_resume();
    switch (number) {
    case 0: return make();
    case 1: return with_events(sbn_evaluate(layer, shards));
    case 2: return with_events(sbn_forward(layer, shards, saved, 0, NULL));
    case 3: return sbn_saved_stats(saved, mean, NULL, NULL);
    case 4: return with_events(sbn_backward(layer, shards, saved, 0, NULL));
    case 5: return with_events(sbn_recompute(layer, shards, saved));
    case 6: return with_events(sbn_evaluate(layer, shards));
    case 7: return sbn_saved_store(saved, bytes, sizeof bytes, &size);
    case 8: return sbn_saved_load(other, bytes, size);
    case 9: return with_events(sbn_backward(layer, shards, other, global, NULL));
    case 10: return sbn_forward(layer, huge, other, SBN_KEEP_RUNNING_STATS, NULL);
    case 11: return sbn_backward(layer, huge, other, 0, NULL);
    case LAST_COMBINING: return sbn_batchnorm_set_training(layer, 0) ? -1 : set_running();
    case 13: return with_events(sbn_forward(layer, shards, saved, 0, NULL));
    default: return with_events(sbn_backward(layer, shards, saved, 0, NULL));
    }
}

/* Two passes are under way at a time; the first one's error is told where both have one. */
enum { SIDE_STEPS = 3 };

static int side_by_side(int number)
{
    const unsigned flags = SBN_KEEP_RUNNING_STATS;
    sbn_pass *first = NULL, *second = NULL;
    char sentence[512] = "";
    if (number == 0)
        return make();
    int status = number == 1 ? sbn_forward_begin(layer, shards, saved, flags, &first)
                             : sbn_backward_begin(layer, shards, saved, 0, &first);
    if (status)
        return with_events(status);
    status = sbn_forward_begin(layer, beside, other, flags, &second);
    if (!status)
        status = sbn_pass_progress(second, NULL);
    const int of_second = second ? sbn_pass_end(second, NULL) : status;
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    const int of_first = with_events(sbn_pass_end(first, NULL));
    return of_first || !of_second ? of_first : sbn_set_last_error(of_second, sentence);
}

static uint64_t result(void)
{
    return layer ? stand_running(stand_outputs_of(SBN_DIGEST_START, slices, replicas), layer) : 0;
}

static uint64_t gradients(uint64_t digest)
{
    const slice *s = slices;
    digest = digest_buffer(digest, s, &s->shard.weight_grad, CHANNELS);
    return digest_buffer(digest, s, &s->shard.bias_grad, CHANNELS);
}

/*
 * A pass that ends the group leaves its outputs undefined, and so does one that combines nothing. A
 * replica alone may write y and dx with its first launch; its gradients come last.
 */
static uint64_t kept(int number)
{
    stand_finish();
    if (!layer || !stand_usable(group))
        return 0;
    const int combines = number != 1 && number != 5 && number != 6 && number <= LAST_COMBINING;
    if (combines && (replicas > 1 || host_combines))
        return result();
    const uint64_t running = stand_running(SBN_DIGEST_START, layer);
    return combines ? gradients(running) : running;
}

#define PASSES \
    .step = step, .steps = STEPS, .kept = kept, .result = result, .end = end, \
    .survived = survived_waits

const scenario pass_scenarios[] = {
    {.name = "passes of one replica", .may_track = 1, .begin = begin_one, PASSES},
    {.name = "passes of three replicas", .may_track = 1, .begin = begin_three, PASSES},
    {.name = "passes of three replicas, the host combines", .begin = begin_three_on_host, PASSES},
    {.name = "passes of a queue without order", .may_track = 1, .begin = begin_unordered, PASSES},
    {.name = "passes of a queue without order, the host combines",
     .begin = begin_unordered_on_host,
     PASSES},
    {.name = "passes side by side",
     .begin = begin_three,
     .step = side_by_side,
     .steps = SIDE_STEPS,
     .result = result,
     .end = end,
     .survived = survived_waits},
    {.name = "passes of the GPU form", .may_track = 1, .begin = begin_gpu_form, PASSES},
    {.name = "passes of bfloat16", .may_track = 1, .begin = begin_narrow, PASSES},
    {.name = NULL},
};
