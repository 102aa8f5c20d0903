/*
 * Passes in chunks: on a device that reports few units and a small cache, every output, the running
 * and the saved statistics have the bits of a pass in one chunk, whatever the shape and the
 * settings. Where the device combines, most passes that could be made in chunks are one launch, and
 * one more in the wide format, with the same bits.
 */
#include <stdio.h>
#include <string.h>

#include "group/group.h"
#include "support/fixture.h"
#include "support/programs_kept.h"
#include "support/wraps.h"

enum { REPLICAS = 3, SEED = 7 };

static fixture device;
static cl_command_queue queues[REPLICAS]; /* the second keeps no order */
static int first_queue;

/* Who combines in chunks: the host where a device has one launch for all, both, or none. */
enum { BY_HOST, EVERYWHERE, NOWHERE };

typedef struct problem {
    const char *what;
    size_t channels, plane, samples[REPLICAS];
    sbn_layout layout;
    unsigned flags; /* of backward */
    float huge;     /* x and dy of one channel */
    int frozen;     /* backward of constants */
    cl_ulong cache;
    int where;
    cl_uint units;
} problem;

static const problem problems[] = {
    {"planes of no whole lines", 520, 49, {1}, SBN_LAYOUT_NCHW, 0, 0, 0, 50300, BY_HOST, 2},
    {"large planes of no whole lines",
     520,
     1025,
     {1},
     SBN_LAYOUT_NCHW,
     0,
     0,
     0,
     1050000,
     EVERYWHERE,
     2},
    {"large planes", 33, 1104, {2}, SBN_LAYOUT_NCHW, 0, 0, 0, 141400, BY_HOST, 2},
    {"several samples", 37, 64, {5}, SBN_LAYOUT_NCHW, 0, 0, 0, 23000, BY_HOST, 2},
    {"gradients of the group",
     37,
     64,
     {5},
     SBN_LAYOUT_NCHW,
     SBN_GLOBAL_GRADIENTS,
     0,
     0,
     23000,
     BY_HOST,
     2},
    {"a channel in the wide format", 37, 64, {5}, SBN_LAYOUT_NCHW, 0, 3e30f, 0, 23000, BY_HOST, 2},
    {"constant statistics", 37, 64, {5}, SBN_LAYOUT_NCHW, 0, 0, 1, 23000, BY_HOST, 2},
    {"channels last", 37, 64, {5}, SBN_LAYOUT_NHWC, 0, 0, 0, 23000, NOWHERE, 2},
    {"small planes", 500, 9, {6}, SBN_LAYOUT_NCHW, 0, 0, 0, 5000, NOWHERE, 2},
    {"a channel too large", 3, 1104, {2}, SBN_LAYOUT_NCHW, 0, 0, 0, 5000, NOWHERE, 2},
    {"several replicas", 37, 64, {3, 1, 2}, SBN_LAYOUT_NCHW, 0, 0, 0, 13000, NOWHERE, 2},
    {"more units", 37, 64, {5}, SBN_LAYOUT_NCHW, 0, 0, 0, 23000, NOWHERE, 3},
};

enum { SEVERAL_SAMPLES = 3, HUGE_CHANNEL = 21, PASSES = 4, LAUNCHES = 2 };

typedef struct outcome {
    uint64_t digest;
    long launches; /* of the four training passes */
    sbn_result results[2];
} outcome;

/* As many replicas as have samples. */
static sbn_group *make_group(const problem *p, cl_ulong cache)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group;
    config.queues = queues + first_queue;
    config.replicas = p->samples[1] ? REPLICAS : 1;
    if (cache) {
        wraps_device_says(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &cache, sizeof cache);
        wraps_device_says(CL_DEVICE_MAX_COMPUTE_UNITS, &p->units, sizeof p->units);
    }
    must(sbn_group_create(&config, &group), "sbn_group_create");
    wraps_device_says(0, NULL, 0);
    return group;
}

static void open_slices(const problem *p, slice *slices)
{
    size_t first = 0;
    for (int r = 0; r < REPLICAS; ++r) {
        slice *s = &slices[r];
        slice_open(s, &device, queues[first_queue + (p->samples[r] ? r : 0)], first, p->samples[r],
                   p->channels, p->plane, SEED);
        first += p->samples[r];
        const size_t run = p->layout == SBN_LAYOUT_NCHW ? p->plane : 1;
        const sbn_buffer huge[] = {{s->shard.x.mem, s->shard.x.offset + HUGE_CHANNEL * run},
                                   {s->shard.dy.mem, s->shard.dy.offset + HUGE_CHANNEL * run}};
        for (int i = 0; i < 2 && p->huge != 0 && p->samples[r] > 0; ++i)
            buffer_fill(s, &huge[i], 1, p->huge);
    }
}

static uint64_t digest_replica(uint64_t digest, const slice *s)
{
    must(clFinish(s->queue), "clFinish");
    digest = digest_buffer(digest, s, &s->shard.y, s->elements);
    digest = digest_buffer(digest, s, &s->shard.dx, s->elements);
    digest = digest_buffer(digest, s, &s->shard.weight_grad, s->channels);
    return digest_buffer(digest, s, &s->shard.bias_grad, s->channels);
}

static uint64_t digest_layer(uint64_t digest, const sbn_batchnorm *layer, const sbn_saved *saved,
                             size_t channels)
{
    float values[4][520];
    int64_t batches;
    uint64_t count;
    must(sbn_batchnorm_running_stats(layer, values[0], values[1], &batches), "get");
    must(sbn_saved_stats(saved, values[2], values[3], &count), "sbn_saved_stats");
    for (int i = 0; i < 4; ++i)
        digest = digest_of(digest, values[i], sizeof(float) * channels);
    return digest_of(digest_of(digest, &batches, sizeof batches), &count, sizeof count);
}

static void drop(cl_event *event)
{
    if (*event)
        must(clReleaseEvent(*event), "clReleaseEvent");
    *event = NULL;
}

/* Two steps of training; the second accumulates gradients, and its events are asked for. */
static outcome train(const problem *p, cl_ulong cache, int on_host)
{
    outcome o = {DIGEST_START, 0, {SBN_RESULT_INIT, SBN_RESULT_INIT}};
    slice slices[REPLICAS];
    sbn_shard shards[REPLICAS];
    cl_event events[REPLICAS] = {NULL};
    sbn_group *group = make_group(p, cache);
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    group->combines = group->combines && !on_host;
    config.channels = p->channels;
    config.layout = p->layout;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    must(sbn_batchnorm_set_training(layer, !p->frozen), "sbn_batchnorm_set_training");
    open_slices(p, slices);
    const long before = wraps_calls(WRAP_LAUNCH);
    for (int step = 0; step < 2; ++step) {
        for (int r = 0; r < REPLICAS; ++r) {
            shards[r] = slices[r].shard;
            shards[r].event = step ? &events[r] : NULL;
        }
        const unsigned flags = p->flags | (step ? SBN_ACCUMULATE_GRADIENTS : 0);
        must(sbn_forward(layer, shards, saved, 0, &o.results[0]), "sbn_forward");
        for (int r = 0; r < REPLICAS; ++r)
            drop(&events[r]);
        must(sbn_backward(layer, shards, saved, flags, &o.results[1]), "sbn_backward");
    }
    o.launches = wraps_calls(WRAP_LAUNCH) - before;
    for (int r = 0; r < REPLICAS; ++r) {
        /* The event stands for everything before it, on queues without an order too. */
        if (events[r])
            must(clWaitForEvents(1, &events[r]), "clWaitForEvents");
        drop(&events[r]);
        o.digest = digest_replica(o.digest, &slices[r]);
        slice_close(&slices[r]);
    }
    o.digest = digest_layer(o.digest, layer, saved, p->channels);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    return o;
}

/*
 * Combined by the host, step 1 of each chunk is a launch of its own: so many more show that there
 * were chunks. Combined by devices, the pass is one launch.
 */
static void check(const problem *p, int on_host, uint64_t right)
{
    const outcome whole = train(p, 0, on_host), chunks = train(p, p->cache, on_host);
    const int wide = p->frozen || on_host ? p->huge != 0 : -1;
    const int alike = p->where == NOWHERE;
    const int at_once = !on_host && p->where == BY_HOST && !p->frozen;
    tap_ok(chunks.digest == whole.digest && (!right || chunks.digest == right),
           "%s, a queue %s order: the bits of a pass made whole", p->what,
           first_queue ? "without" : "in");
    tap_ok(at_once ? chunks.launches == PASSES * LAUNCHES
           : alike ? chunks.launches == whole.launches
                   : chunks.launches > whole.launches + whole.launches / 2,
           "%s: made %s: %ld launches, %ld whole", p->what,
           at_once ? "in one launch"
           : alike ? "whole"
                   : "in chunks",
           chunks.launches, whole.launches);
    tap_ok(memcmp(chunks.results, whole.results, sizeof whole.results) == 0 &&
               chunks.results[0].wide == wide,
           "%s: the same results, wide format %d", p->what, wide);
    if (on_host)
        check(p, 0, whole.digest);
}

/* A pass in two phases, or beside another that is under way, is made whole. */
static void check_two_phases(void)
{
    const problem *p = &problems[SEVERAL_SAMPLES];
    slice slices[REPLICAS];
    sbn_shard shards[REPLICAS];
    sbn_group *group = make_group(p, p->cache);
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    sbn_saved *saved[2];
    sbn_pass *pass;
    long launches[3];
    config.channels = p->channels;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    open_slices(p, slices);
    for (int i = 0; i < 2; ++i)
        must(sbn_saved_create(layer, &saved[i]), "sbn_saved_create");
    for (int r = 0; r < REPLICAS; ++r)
        shards[r] = slices[r].shard;
    launches[0] = wraps_calls(WRAP_LAUNCH);
    must(sbn_forward_begin(layer, shards, saved[0], 0, &pass), "begin");
    launches[1] = wraps_calls(WRAP_LAUNCH);
    must(sbn_forward(layer, shards, saved[1], 0, NULL), "sbn_forward");
    launches[2] = wraps_calls(WRAP_LAUNCH);
    tap_ok(launches[2] - launches[1] <= 2 * (launches[1] - launches[0]) + 1,
           "beside a pass under way one is made whole: %ld launches", launches[2] - launches[1]);
    must(sbn_pass_end(pass, NULL), "end");
    for (int i = 0; i < 2; ++i)
        sbn_saved_destroy(saved[i]);
    for (int r = 0; r < REPLICAS; ++r)
        slice_close(&slices[r]);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
}

/*
 * A command that fails on the device, in any chunk, is what the pass comes to, though others have
 * followed it; where the pass only enqueues, who asks for what it saves is told.
 */
static void check_failed_commands(int on_host)
{
    const problem *p = &problems[SEVERAL_SAMPLES];
    slice slices[REPLICAS];
    sbn_group *group = make_group(p, p->cache);
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    int n = 1, silent = 0, any = 1;
    group->combines = group->combines && !on_host;
    config.channels = p->channels;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    open_slices(p, slices);
    for (; any; ++n) {
        sbn_saved *saved;
        must(sbn_saved_create(layer, &saved), "sbn_saved_create");
        wraps_condemn(n);
        float mean[64];
        int status = sbn_forward(layer, &slices[0].shard, saved, 0, NULL);
        if (!status && !on_host)
            status = sbn_saved_stats(saved, mean, NULL, NULL);
        any = wraps_condemned();
        wraps_condemn(0);
        silent += any && status != CL_OUT_OF_RESOURCES;
        must(clFinish(queues[0]), "clFinish");
        sbn_saved_destroy(saved);
    }
    tap_ok(n > (on_host ? 50 : 2) && silent == 0,
           "a failed command of a pass %s: %d of %d are not told",
           on_host ? "in chunks" : "in one launch", silent, n - 2);
    slice_close(&slices[0]);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
}

static void checks(void)
{
    for (int r = 0; r < REPLICAS; ++r)
        queues[r] = fixture_queue(&device, r == 1);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; ++i)
        for (first_queue = 0; first_queue < (problems[i].samples[1] ? 1 : 2); ++first_queue)
            check(&problems[i], 1, 0);
    first_queue = 0;
    check_two_phases();
    check_failed_commands(1);
    check_failed_commands(0);
    for (int r = 0; r < REPLICAS; ++r)
        clReleaseCommandQueue(queues[r]);
    programs_release();
}

int main(void)
{
    return fixture_main(&device, NULL, checks);
}
