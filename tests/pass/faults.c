/*
 * Every call into OpenCL and every allocation that a group makes in its life
 * fails once, the first, the second and so on: each failure is reported, with
 * a sentence and no event left; nothing leaks; and a group that did not fail
 * goes on with the right bits.
 */
#include <stdio.h>
#include <string.h>

#include "support/fixture.h"
#include "base/memory.h"
#include "pass/pool.h"
#include "support/wraps.h"

enum { REPLICAS = 2, CHANNELS = 17, PLANE = 48, STEPS = 10, PIECE_STEPS = 3 };

static fixture device;
static cl_command_queue queues[REPLICAS];
static slice slices[REPLICAS], huge[REPLICAS];
static sbn_shard shards[REPLICAS], huge_shards[REPLICAS], huge_quiet[REPLICAS]; /* no events */
static cl_event events[REPLICAS];
static size_t replicas = REPLICAS, first = 0; /* of the queues, in a group */
static int steps = STEPS;

typedef struct life {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved, *other;
} life;

static int make_group(life *l)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = queues + first;
    config.replicas = replicas;
    return sbn_group_create(&config, &l->group);
}

static int make_layer(life *l)
{
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    of_layer.channels = CHANNELS;
    l->layer = NULL;
    l->saved = l->other = NULL;
    int status = sbn_batchnorm_create(l->group, &of_layer, &l->layer);
    if (!status)
        status = sbn_saved_create(l->layer, &l->saved);
    return status ? status : sbn_saved_create(l->layer, &l->other);
}

static void end_layer(life *l)
{
    sbn_saved_destroy(l->saved);
    sbn_saved_destroy(l->other);
    sbn_batchnorm_destroy(l->layer);
}

/* A group as if new, without compiling again. */
static void renew(sbn_group *group)
{
    if (group->passes)
        group->free_passes(group->passes);
    group->passes = NULL;
    sbn__free(group->claims.list);
    group->claims = (sbn_claims){0};
    group->communicator.status = 0;
}

/* 1 if all the events came; they are waited for, then released. */
static int take_events(int *any)
{
    int all = 1;
    *any = 0;
    for (size_t r = 0; r < replicas; ++r) {
        all = all && events[r];
        *any = *any || events[r];
        if (events[r]) {
            must(clWaitForEvents(1, &events[r]), "clWaitForEvents");
            clReleaseEvent(events[r]);
        }
        events[r] = NULL;
    }
    return all;
}

/* The n-th step of a life. Those with huge values need the wide format. */
static int step(life *l, int n)
{
    const sbn_branch both[] = {{sizeof(sbn_branch), l->layer, shards, l->saved, 0},
                               {sizeof(sbn_branch), l->layer, huge_quiet, l->other, 0}};
    switch (n) {
    case 0: return sbn_evaluate(l->layer, shards);
    case 1: return sbn_forward(l->layer, shards, l->saved, 0, NULL);
    case 2: return sbn_backward(l->layer, shards, l->saved, 0, NULL);
    case 3: return sbn_recompute(l->layer, shards, l->saved);
    case 4: return sbn_evaluate(l->layer, shards);
    case 5: return sbn_backward(l->layer, shards, l->saved, SBN_GLOBAL_GRADIENTS, NULL);
    case 6: return sbn_forward(l->layer, huge_shards, l->saved, SBN_KEEP_RUNNING_STATS, NULL);
    case 7: return sbn_backward(l->layer, huge_shards, l->saved, 0, NULL);
    case 8: return sbn_forward_branches(both, 2, NULL);
    default: return sbn_backward_branches(both, 2, NULL);
    }
}

static uint64_t digest(void)
{
    uint64_t digest = DIGEST_START;
    for (size_t r = 0; r < replicas; ++r) {
        must(clFinish(queues[first + r]), "clFinish");
        digest = digest_buffer(digest, &slices[r], &shards[r].y, slices[r].elements);
        digest = digest_buffer(digest, &slices[r], &shards[r].dx, slices[r].elements);
        digest = digest_buffer(digest, &slices[r], &shards[r].weight_grad, CHANNELS);
    }
    return digest;
}

/* The n-th call in the making of a group fails; 0 if there were fewer. */
static int fails_to_make(int n)
{
    life l = {NULL, NULL, NULL, NULL};
    const long before = sbn__handles_open();
    wraps_fail(WRAP_ANY, n);
    const int status = make_group(&l);
    const int failed = wraps_failed(), spoken = *sbn_last_error() != '\0';
    wraps_fail(WRAP_ANY, 0);
    if (failed < 0) {
        sbn_group_destroy(l.group);
        return 0;
    }
    if (!status || !spoken || l.group || sbn__handles_open() != before)
        tap_ok(0, "group, call %d, %s: reported %s, %ld handles left", n, wraps_names[failed],
               sbn_strerror(status), sbn__handles_open() - before);
    return 1;
}

/* The steps, until one fails: its number. */
static int take_steps(life *l, int *status, int *any)
{
    int s = 0;
    *any = 0;
    for (; s < steps; ++s) {
        *status = step(l, s);
        const int complete = take_events(any);
        if (*status || !complete)
            break;
    }
    return s;
}

/* The n-th call in the life of a layer, from its making on, fails; 0 if there were fewer. */
static int fails_to_live(sbn_group *group, int n, uint64_t right)
{
    life l = {group, NULL, NULL, NULL};
    int status, any = 0, s = -1;
    renew(group);
    const long before = sbn__handles_open();
    wraps_fail(WRAP_ANY, n);
    status = make_layer(&l);
    if (!status)
        s = take_steps(&l, &status, &any);
    const int failed = wraps_failed(), spoken = *sbn_last_error() != '\0';
    wraps_fail(WRAP_ANY, 0);
    char what[96];
    snprintf(what, sizeof what, "call %d, %s, in step %d", n, failed < 0 ? "" : wraps_names[failed],
             s);
    if (failed >= 0 && (!status || !spoken || any))
        tap_ok(0, "%s: reported %s, %s sentence, %s event", what, sbn_strerror(status),
               spoken ? "a" : "no", any ? "an" : "no");
    for (size_t r = 0; r < replicas; ++r) {
        must(clFinish(queues[first + r]), "clFinish");
        slice_reset(&slices[r]);
    }
    /* Once more from the start, unless the group says that it has failed. */
    if (failed >= 0 && s >= 0) {
        must(sbn_batchnorm_reset_running_stats(l.layer), "reset");
        s = take_steps(&l, &status, &any);
        if (status != SBN_GROUP_FAILED && (s < steps || digest() != right))
            tap_ok(0, "%s: again, and it stops in step %d with %s (%s)", what, s,
                   sbn_strerror(status), sbn_last_error());
    }
    end_layer(&l);
    renew(group);
    if (sbn__handles_open() != before)
        tap_ok(0, "%s: %ld handles left", what, sbn__handles_open() - before);
    return failed >= 0;
}

/* The first steps of one replica alone, in one launch each or combined by the host. */
static void check_alone(size_t queue, int on_host)
{
    life l;
    int status, any, n = 1;
    replicas = 1;
    first = queue;
    steps = PIECE_STEPS;
    must(make_group(&l), "a group of one replica");
    l.group->combines = l.group->combines && !on_host;
    must(make_layer(&l), "its layer");
    slice_reset(&slices[0]);
    take_steps(&l, &status, &any);
    const uint64_t right = digest();
    end_layer(&l);
    while (fails_to_live(l.group, n, right))
        ++n;
    tap_ok(n > 30, "one replica, %s: %d calls failed, one in each",
           on_host ? "the host combines" : "in one launch", n - 1);
    sbn_group_destroy(l.group);
    replicas = REPLICAS;
    first = 0;
    steps = STEPS;
}

/*
 * A command that fails on the device is what the pass comes to, though others have followed it; where
 * the pass only enqueues, who asks for what it saves is told.
 */
static void check_failed_commands(int on_host)
{
    life l;
    int n = 1, silent = 0, condemned = 1;
    replicas = 1;
    must(make_group(&l), "a group of one replica");
    l.group->combines = l.group->combines && !on_host;
    must(make_layer(&l), "its layer");
    for (; condemned; ++n) {
        float mean[CHANNELS];
        sbn_saved *saved; /* another each time: what an earlier pass has left there may fail */
        must(sbn_saved_create(l.layer, &saved), "sbn_saved_create");
        wraps_condemn(n);
        int status = sbn_forward(l.layer, &slices[0].shard, saved, 0, NULL);
        if (!status && !on_host)
            status = sbn_saved_stats(saved, mean, NULL, NULL);
        condemned = wraps_condemned();
        wraps_condemn(0);
        silent += condemned && status != CL_OUT_OF_RESOURCES;
        must(clFinish(queues[0]), "clFinish");
        sbn_saved_destroy(saved);
    }
    tap_ok(n > 2 && silent == 0, "a failed command, %s: %d of %d are not told",
           on_host ? "the host combines" : "in one launch", silent, n - 2);
    end_layer(&l);
    sbn_group_destroy(l.group);
    replicas = REPLICAS;
}

/* As many channels as there may be lack nothing but memory. */
static void check_most_channels(sbn_group *group)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer = NULL;
    config.channels = INT32_MAX;
    wraps_fail(WRAP_ALLOCATE, 1);
    expect(sbn_batchnorm_create(group, &config, &layer), SBN_OUT_OF_MEMORY, "a layer",
           "2^31 - 1 channels");
    wraps_fail(WRAP_ALLOCATE, 0);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    for (size_t r = 0; r < replicas; ++r) {
        queues[r] = fixture_queue(&device, r);
        slice_open(&slices[r], &device, queues[r], 3 * r, 3, CHANNELS, PLANE, 4);
        slice_open(&huge[r], &device, queues[r], 3 * r, 3, CHANNELS, PLANE, 4);
        buffer_fill(&huge[r], &huge[r].shard.x, PLANE, 3e30f);
        buffer_fill(&huge[r], &huge[r].shard.dy, PLANE, 3e30f);
        shards[r] = slices[r].shard;
        huge_shards[r] = huge[r].shard;
        huge_quiet[r] = huge_shards[r];
        shards[r].event = huge_shards[r].event = &events[r];
    }
    life l;
    int status, any, n = 1;
    must(make_group(&l), "a group without faults");
    must(make_layer(&l), "a layer without faults");
    sbn_result forward = SBN_RESULT_INIT, backward = SBN_RESULT_INIT;
    must(sbn_forward(l.layer, huge_shards, l.saved, SBN_KEEP_RUNNING_STATS, &forward), "wide");
    take_events(&any);
    must(sbn_backward(l.layer, huge_shards, l.saved, 0, &backward), "wide");
    take_events(&any);
    tap_ok(forward.wide && backward.wide, "the huge values need the wide format");
    tap_ok(take_steps(&l, &status, &any) == STEPS, "%d steps without faults", STEPS);
    const uint64_t right = digest();
    end_layer(&l);
    while (fails_to_live(l.group, n, right))
        ++n;
    check_most_channels(l.group);
    tap_ok(n > 200, "a layer's life: %d calls failed, one in each", n - 1);
    sbn_group_destroy(l.group);
    for (n = 1; fails_to_make(n);)
        ++n;
    tap_ok(n > 30, "the making of a group: %d calls failed, one in each", n - 1);
    for (size_t queue = 0; queue < REPLICAS; ++queue) /* the second keeps no order */
        for (int on_host = 0; on_host < 2; ++on_host)
            check_alone(queue, on_host);
    check_failed_commands(1);
    check_failed_commands(0);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    for (size_t r = 0; r < replicas; ++r) {
        slice_close(&slices[r]);
        slice_close(&huge[r]);
        clReleaseCommandQueue(queues[r]);
    }
    fixture_close(&device);
    return tap_done();
}
