/*
 * An existing data-parallel engine, patched in place: it replicates a model, runs a thread per
 * replica, and knows nothing of groups. Its replication is replaced by one that calls the engine's
 * own and then registers each replica; the engine's steps are synchronised from then on, and local
 * again when the replicas are moved back.
 */
#include <pthread.h>
#include <string.h>

#include "support/fixture.h"

enum { MOST = 4, CHANNELS = 3, PLANE = 20 };

static fixture device;

/* Replica r has r + 1 samples, which follow those of the ones before it. */
static void open_slice(slice *s, cl_command_queue queue, size_t r)
{
    slice_open(s, &device, queue, r * (r + 1) / 2, r + 1, CHANNELS, PLANE, 5);
}

/* --- the engine -------------------------------------------------------------------- */

typedef struct replica {
    cl_command_queue queue;
    slice s;
    sbn_group *group;
    sbn_model *model;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    pthread_t thread;
    int status;
} replica;

typedef struct engine {
    size_t count;
    replica replicas[MOST];
    void (*replicate)(struct engine *, size_t count);
} engine;

static void drop(engine *e)
{
    for (; e->count > 0; --e->count) {
        replica *r = &e->replicas[e->count - 1];
        slice_close(&r->s);
        sbn_model_destroy(r->model);
        fixture_end(r->layer, r->saved);
        sbn_group_destroy(r->group);
        clReleaseCommandQueue(r->queue);
    }
}

/* Local batch norm: each replica is a group of one. */
static void replicate(engine *e, size_t count)
{
    drop(e);
    for (; e->count < count; ++e->count) {
        replica *r = &e->replicas[e->count];
        r->queue = fixture_queue(&device, 0);
        open_slice(&r->s, r->queue, e->count);
        r->group = fixture_rank(&r->queue, 1, NULL);
        r->layer = fixture_layer(r->group, CHANNELS);
        r->saved = fixture_saved(r->layer);
        const sbn_parameters parameters = {sizeof parameters, r->s.shard.weight, r->s.shard.bias};
        must(sbn_model_create(&r->model), "sbn_model_create");
        must(sbn_model_add(r->model, "norm", r->layer, &parameters), "sbn_model_add");
    }
}

static void *run(void *argument)
{
    replica *r = argument;
    r->status = sbn_forward(r->layer, &r->s.shard, r->saved, 0, NULL);
    if (!r->status)
        r->status = sbn_backward(r->layer, &r->s.shard, r->saved, 0, NULL);
    clFinish(r->queue);
    return NULL;
}

static void step(engine *e)
{
    for (size_t i = 0; i < e->count; ++i)
        must(pthread_create(&e->replicas[i].thread, NULL, run, &e->replicas[i]), "pthread_create");
    for (size_t i = 0; i < e->count; ++i) {
        pthread_join(e->replicas[i].thread, NULL);
        must(e->replicas[i].status, "a replica's step");
    }
}

/* --- the patch --------------------------------------------------------------------- */

static struct {
    void (*replicate)(engine *, size_t); /* the engine's own */
    sbn_hub *hub;
} patched;

/* Called for each replica when it has been made. */
static void register_replica(replica *r, const sbn_transport *transport)
{
    sbn_group *group = fixture_rank(&r->queue, 1, transport);
    expect(sbn_model_set_group(r->model, group, NULL, NULL), SBN_SUCCESS, "",
           "a replica registers");
    sbn_group_destroy(r->group);
    r->group = group;
}

static void replicate_and_register(engine *e, size_t count)
{
    sbn_hub *hub;
    must(sbn_hub_create((int)count, &hub), "sbn_hub_create");
    patched.replicate(e, count);
    for (size_t i = 0; i < count; ++i) {
        sbn_transport transport = SBN_TRANSPORT_INIT;
        must(sbn_hub_transport(hub, (int)i, &transport), "sbn_hub_transport");
        register_replica(&e->replicas[i], &transport);
    }
    /* The replicas that met in the former one are gone. */
    sbn_hub_destroy(patched.hub);
    patched.hub = hub;
}

static void patch(engine *e)
{
    patched.replicate = e->replicate;
    e->replicate = replicate_and_register;
}

/* --- what is right ------------------------------------------------------------------- */

static uint64_t digest_replica(uint64_t digest, const slice *s, const sbn_batchnorm *layer)
{
    return digest_layer(digest_slice(digest, s), layer, NULL);
}

static uint64_t digest_engine(const engine *e)
{
    uint64_t digest = DIGEST_START;
    for (size_t i = 0; i < e->count; ++i)
        digest = digest_replica(digest, &e->replicas[i].s, e->replicas[i].layer);
    return digest;
}

/* Replicas first ... first + count - 1 as one group, `steps` times. */
static uint64_t together(uint64_t digest, size_t first, size_t count, int steps)
{
    cl_command_queue queue = fixture_queue(&device, 0), queues[MOST];
    slice slices[MOST];
    sbn_shard shards[MOST] = {{0}};
    for (size_t i = 0; i < count; ++i) {
        queues[i] = queue;
        open_slice(&slices[i], queue, first + i);
        shards[i] = slices[i].shard;
    }
    sbn_group *group = fixture_rank(queues, count, NULL);
    sbn_batchnorm *layer = fixture_layer(group, CHANNELS);
    sbn_saved *saved = fixture_saved(layer);
    for (int k = 0; k < steps; ++k) {
        must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
        must(sbn_backward(layer, shards, saved, 0, NULL), "sbn_backward");
    }
    for (size_t i = 0; i < count; ++i) {
        digest = digest_replica(digest, &slices[i], layer);
        slice_close(&slices[i]);
    }
    fixture_end(layer, saved);
    sbn_group_destroy(group);
    clReleaseCommandQueue(queue);
    return digest;
}

static uint64_t apart(size_t count, int steps)
{
    uint64_t digest = DIGEST_START;
    for (size_t i = 0; i < count; ++i)
        digest = together(digest, i, 1, steps);
    return digest;
}

static void checks(void)
{
    engine e = {.replicate = replicate};

    e.replicate(&e, 3);
    step(&e);
    tap_ok(digest_engine(&e) == apart(3, 1), "as it was: each replica by itself");

    patch(&e);
    for (size_t count = MOST; count > 1; count -= 2) {
        e.replicate(&e, count);
        step(&e);
        step(&e);
        const uint64_t digest = digest_engine(&e);
        tap_ok(digest == together(DIGEST_START, 0, count, 2),
               "patched: %d replicas have the bits of one group", (int)count);
        tap_ok(digest != apart(count, 2), "which are not those of replicas apart");
    }

    /* Moved back, with the statistics they have. */
    for (size_t i = 0; i < e.count; ++i) {
        must(sbn_batchnorm_reset_running_stats(e.replicas[i].layer), "reset");
        register_replica(&e.replicas[i], NULL);
    }
    step(&e);
    tap_ok(digest_engine(&e) == apart(2, 1), "moved back: each replica by itself");

    drop(&e);
    sbn_hub_destroy(patched.hub);
}

int main(void)
{
    fixture_one_thread();
    return fixture_main(&device, NULL, checks);
}
