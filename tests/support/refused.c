#include "support/refused.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char *const names[] = {"forward", "backward", "evaluation", "recomputation"};

int stage_open(stage *s)
{
    cl_command_queue queues[REPLICAS];
    memset(s, 0, sizeof *s);
    s->handles = sbn__handles_open();
    if (fixture_open(&s->device))
        return 1;
    s->queue = queues[0] = queues[1] = fixture_queue(&s->device, 0);
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = queues;
    config.replicas = REPLICAS;
    must(sbn_group_create(&config, &s->group), "sbn_group_create");
    sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
    layer.channels = CHANNELS;
    layer.name = "first";
    must(sbn_batchnorm_create(s->group, &layer, &s->layer), "sbn_batchnorm_create");
    layer.name = "second";
    layer.track_running_stats = 0;
    must(sbn_batchnorm_create(s->group, &layer, &s->second), "sbn_batchnorm_create");
    must(sbn_saved_create(s->layer, &s->saved), "sbn_saved_create");
    must(sbn_saved_create(s->layer, &s->empty), "sbn_saved_create");
    must(sbn_saved_create(s->second, &s->of_second), "sbn_saved_create");
    for (size_t r = 0; r < REPLICAS; ++r) {
        slice_open(&s->slices[r], &s->device, s->queue, 2 * r, SAMPLES / REPLICAS, CHANNELS, PLANE,
                   1);
        s->good[r] = s->slices[r].shard;
    }
    must(sbn_forward(s->layer, s->good, s->saved, 0, NULL), "sbn_forward");
    must(sbn_forward(s->second, s->good, s->of_second, 0, NULL), "sbn_forward");
    stage_reset(s);
    return 0;
}

void stage_reset(const stage *s)
{
    for (size_t r = 0; r < REPLICAS; ++r)
        slice_reset(&s->slices[r]);
}

uint64_t stage_state(const stage *s)
{
    float values[4][CHANNELS];
    int64_t batches;
    uint64_t count;
    must(sbn_batchnorm_running_stats(s->layer, values[0], values[1], &batches), "running");
    must(sbn_saved_stats(s->saved, values[2], values[3], &count), "saved");
    uint64_t digest = digest_of(DIGEST_START, values, sizeof values);
    digest = digest_of(digest, &batches, sizeof batches);
    return digest_of(digest, &count, sizeof count);
}

static int call(operation op, sbn_batchnorm *of, const sbn_shard *shards, sbn_saved *with,
                unsigned flags)
{
    switch (op) {
    case FORWARD: return sbn_forward(of, shards, with, flags, NULL);
    case BACKWARD: return sbn_backward(of, shards, with, flags, NULL);
    case EVALUATE: return sbn_evaluate(of, shards);
    default: return sbn_recompute(of, shards, with);
    }
}

void refused(stage *s, operation op, sbn_batchnorm *layer, const sbn_shard *shards,
             sbn_saved *saved, unsigned flags, int status, const char *words, const char *what)
{
    char name[256];
    const uint64_t before = stage_state(s);
    snprintf(name, sizeof name, "%s: %s", names[op], what);
    expect(call(op, layer, shards, saved, flags), status, words, name);
    tap_ok(stage_state(s) == before && slice_untouched(&s->slices[0]) &&
               slice_untouched(&s->slices[1]),
           "%s: nothing has changed", name);
}

int stage_close(stage *s)
{
    for (operation op = FORWARD; op <= RECOMPUTE; ++op)
        expect(call(op, s->layer, s->good, s->saved, 0), SBN_SUCCESS, "", names[op]);
    tap_ok(!slice_untouched(&s->slices[1]), "the same group works");
    for (size_t r = 0; r < REPLICAS; ++r)
        slice_close(&s->slices[r]);
    sbn_saved_destroy(s->saved);
    sbn_saved_destroy(s->empty);
    sbn_saved_destroy(s->of_second);
    sbn_batchnorm_destroy(s->layer);
    sbn_batchnorm_destroy(s->second);
    sbn_group_destroy(s->group);
    tap_ok(sbn__handles_open() == s->handles, "no handle is left open");
    clReleaseCommandQueue(s->queue);
    fixture_close(&s->device);
    return tap_done();
}
