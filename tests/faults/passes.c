/* The life of a layer: passes of every kind, on one replica and on three, begun and ended. */
#include <stdio.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "group/group.h"
#include "support/wraps.h"

/* What differs: the group, on the queues from one on, and the layer. */
typedef struct variant {
    size_t replicas, first_queue;
    sbn_kernel_form form;
    sbn_activation activation;
    int residual, from_output, host_combines, gives_running;
} variant;

static const variant *now;
static sbn_shard shards[REPLICAS], huge[REPLICAS], beside[REPLICAS];
static unsigned char bytes[1 << 12];
static size_t size;

static void begin(void)
{
    now = trying->variant;
    slices_reset(at.slices, now->replicas);
    for (size_t r = 0; r < now->replicas; ++r) {
        shards[r] = at.slices[r].shard;
        huge[r] = shards[r];
        huge[r].x = at.huge[r].shard.x;
        huge[r].dy = at.huge[r].shard.dy;
        beside[r] = at.huge[r].shard;
        shards[r].event = &at.events[r];
        if (now->residual)
            shards[r].residual = shards[r].dy;
        if (now->gives_running) {
            shards[r].running_mean = at.more[0][r].shard.weight_grad;
            shards[r].running_var = at.more[0][r].shard.bias_grad;
        }
    }
}

/* A pass gives events where it succeeds, and none where it fails. */
static int with_events(int status)
{
    size_t given = 0;
    wraps_pause();
    for (size_t r = 0; r < now->replicas; ++r)
        if (at.events[r]) {
            must(clWaitForEvents(1, &at.events[r]), "clWaitForEvents");
            ++given;
        }
    events_release(at.events, REPLICAS);
    wraps_resume();
    if (given != (status ? 0 : now->replicas))
        tap_ok(0, "%zu events, and %s", given, sbn_strerror(status));
    return status;
}

/* Saved statistics twice: for the passes, and for those beside them. */
static int make(void)
{
    int status = STAND_GROUP(0, .queues = at.queues + now->first_queue, .replicas = now->replicas,
                             .form = now->form);
    if (!status && now->host_combines) {
        at.groups[0]->combines = 0;
        /* Channels last there are two slices then, whose sums a command adds. */
        for (size_t r = 0; r < now->replicas; ++r)
            at.groups[0]->replicas[r].tuning.percent[SBN_TUNED_REDUCE] = 1;
    }
    if (!status)
        status = STAND_LAYER(0, at.groups[0], .activation = now->activation,
                             .residual = now->residual, .from_output = now->from_output,
                             .layout = now->host_combines ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW);
    for (size_t i = 0; i < 2 && !status; ++i)
        status = stand_saved(i, at.layers[0]);
    return status;
}

static int set_running(void)
{
    const float mean[CHANNELS] = {0.5f, -1, 2, 0, 1}, var[CHANNELS] = {1, 2, 3, 4, 5};
    const int64_t batches = 7;
    return sbn_batchnorm_set_running_stats(at.layers[0], mean, var, &batches);
}

/* The first pass is an evaluation, which needs the least memory; what is saved goes through bytes. */
enum { STEPS = 15, LAST_COMBINING = 12 };

static int step(int number)
{
    const unsigned global = SBN_GLOBAL_GRADIENTS | SBN_ACCUMULATE_GRADIENTS;
    sbn_batchnorm *layer = at.layers[0];
    sbn_saved *saved = at.saved[0], *other = at.saved[1];
    float mean[CHANNELS];
    /* All write the same tensors. A pass that fails may have updated what it is given. */
    wraps_pause();
    stand_finish();
    for (size_t r = 0; r < now->replicas && now->gives_running; ++r) {
        buffer_fill(&at.more[0][r], &shards[r].running_mean, CHANNELS, 0.5f);
        buffer_fill(&at.more[0][r], &shards[r].running_var, CHANNELS, 2.0f);
    }
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

/* Forward keeps a mask in the saved statistics, or what backward from the output needs. */
static int step_fused(int number)
{
    if (number == 0)
        return make();
    return with_events(
        number == 1 ? sbn_forward(at.layers[0], shards, at.saved[0], SBN_KEEP_RUNNING_STATS, NULL)
                    : sbn_backward(at.layers[0], shards, at.saved[0], 0, NULL));
}

/* Two passes are under way at a time; the first one's error is told where both have one. */
static int side_by_side(int number)
{
    const unsigned flags = SBN_KEEP_RUNNING_STATS;
    sbn_batchnorm *layer = at.layers[0];
    sbn_pass *first = NULL, *second = NULL;
    char sentence[512] = "";
    if (number == 0)
        return make();
    int status = number == 1 ? sbn_forward_begin(layer, shards, at.saved[0], flags, &first)
                             : sbn_backward_begin(layer, shards, at.saved[0], 0, &first);
    if (status)
        return with_events(status);
    status = sbn_forward_begin(layer, beside, at.saved[1], flags, &second);
    if (!status)
        status = sbn_pass_progress(second, NULL);
    /* An error of the pass is its end's to tell. */
    if (!status && *sbn_last_error())
        tap_ok(0, "a pass that goes on leaves a sentence: %s", sbn_last_error());
    const int of_second = second ? sbn_pass_end(second, NULL) : status;
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    const int of_first = with_events(sbn_pass_end(first, NULL));
    return of_first || !of_second ? of_first : sbn_set_last_error(of_second, sentence);
}

static uint64_t result(void)
{
    uint64_t digest = stand_outputs(SBN_DIGEST_START, at.slices, now->replicas);
    if (now->gives_running)
        digest = stand_outputs(digest, at.more[0], now->replicas);
    return stand_running(digest, at.layers[0]);
}

/*
 * A pass that ends the group leaves its outputs undefined, and so does one that combines nothing. A
 * replica alone may write y and dx with its first launch; its gradients come last.
 */
static uint64_t kept(int number)
{
    stand_finish();
    if (!at.layers[0] || !stand_usable(at.groups[0]))
        return 0;
    const int combines = number != 1 && number != 5 && number != 6 && number <= LAST_COMBINING;
    if (combines && (now->replicas > 1 || now->host_combines))
        return result();
    const uint64_t running = stand_running(SBN_DIGEST_START, at.layers[0]);
    return combines ? digest_gradients(running, at.slices) : running;
}

/* A program of the GPU form that cannot be built is built once more, without what it can do without. */
static const int survived_builds[] = {WRAP_BUILD, WRAP_WAIT, WRAP_FINISH, SURVIVED_RELEASES, -1};

#define OF_VARIANT(...) \
    .variant = &(const variant){__VA_ARGS__}, .begin = begin, .result = result, .end = stand_end
#define VARIANT(...) OF_VARIANT(__VA_ARGS__), .survived = survived_waits
#define GPU_VARIANT(...) OF_VARIANT(.form = SBN_FORM_GPU, __VA_ARGS__), .survived = survived_builds
#define PASSES .step = step, .steps = STEPS, .kept = kept
#define FUSED .step = step_fused, .steps = 3

const scenario pass_scenarios[] = {
    SCENARIO("passes of one replica", .may_track = 1, PASSES, VARIANT(.replicas = 1)),
    SCENARIO("passes of three replicas", .may_track = 1, PASSES, VARIANT(.replicas = 3)),
    SCENARIO("passes of three replicas, the host combines", PASSES,
             VARIANT(.replicas = 3, .host_combines = 1)),
    SCENARIO("passes of a queue without order", .may_track = 1, PASSES,
             VARIANT(.replicas = 1, .first_queue = 1)),
    SCENARIO("passes of a queue without order, the host combines", PASSES,
             VARIANT(.replicas = 1, .first_queue = 1, .host_combines = 1)),
    SCENARIO("given running statistics", .may_track = 2, PASSES,
             VARIANT(.replicas = 2, .gives_running = 1)),
    SCENARIO("given running statistics, the host combines", .may_track = 2, PASSES,
             VARIANT(.replicas = 2, .host_combines = 1, .gives_running = 1)),
    SCENARIO("passes side by side", .step = side_by_side, .steps = 3, VARIANT(.replicas = 3)),
    SCENARIO("passes side by side, the host combines", .step = side_by_side, .steps = 3,
             VARIANT(.replicas = 2, .host_combines = 1)),
    /* Its reductions are programs that passes build. */
    SCENARIO("passes of the GPU form", .may_track = 1, PASSES, GPU_VARIANT(.replicas = 1)),
    SCENARIO("a residual and a ReLU", FUSED,
             VARIANT(.replicas = 3, .activation = SBN_RELU, .residual = 1)),
    SCENARIO("a residual and a ReLU, GPU form", FUSED,
             GPU_VARIANT(.replicas = 2, .activation = SBN_RELU, .residual = 1)),
    SCENARIO("backward from the output", FUSED, VARIANT(.replicas = 3, .from_output = 1)),
    {.name = NULL},
};
