/*
 * Models move to another group and back, and keep everything: the bits of a
 * network that never moved; what is refused leaves all where it was.
 */
#include <string.h>

#include "model/model.h"
#include "support/main.h"
#include "support/network.h"
#include "support/refused.h"

/* An engine's replication: buffers for each replica, as it goes. */
typedef struct engine {
    network *network;
    int calls, fail_at;
    size_t offset; /* of each bias */
} engine;

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *parameters)
{
    engine *e = context;
    size_t index;
    if (++e->calls == e->fail_at)
        return CL_OUT_OF_RESOURCES;
    if (sbn_model_find(e->network->model, name, &index) != layer ||
        parameters->size != sizeof *parameters)
        return SBN_INVALID_ARGUMENT;
    if (!e->network->parameters[index][replica].weight.mem)
        e->network->parameters[index][replica] = network_parameters(e->network, CHANNELS, PATTERN,
                                                                    PATTERN);
    *parameters = e->network->parameters[index][replica];
    parameters->bias.offset += e->offset;
    parameters->size = 0; /* of no effect */
    return SBN_SUCCESS;
}

static uint64_t digest_y(uint64_t digest, const slice *s, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        digest = digest_buffer(digest, &s[r], &s[r].shard.y, s[r].elements);
    return digest;
}

/* A training step of a layer on shards of 6 samples: 6, or 1, 2 and 3. */
static uint64_t step(const network *n, size_t layer, size_t replicas, sbn_saved *saved,
                     unsigned seed)
{
    slice s[REPLICAS];
    sbn_shard shards[REPLICAS] = {{0}};
    uint64_t digest = SBN_DIGEST_START;
    size_t first = 0;
    for (size_t r = 0; r < replicas; ++r) {
        const size_t samples = replicas == 1 ? SAMPLES : r + 1;
        slice_open(&s[r], &device, queue, first, samples, CHANNELS, PLANE, seed);
        first += samples;
        shards[r] = s[r].shard;
        shards[r].weight = n->parameters[layer][r].weight;
        shards[r].bias = n->parameters[layer][r].bias;
    }
    /* By what has moved with the layer, and later by what it has learnt. */
    must(sbn_evaluate(n->layers[layer], shards), "sbn_evaluate");
    digest = digest_y(digest, s, replicas);
    must(sbn_forward(n->layers[layer], shards, saved, 0, NULL), "sbn_forward");
    must(sbn_backward(n->layers[layer], shards, saved, SBN_GLOBAL_GRADIENTS, NULL), "backward");
    digest = digest_y(digest, s, replicas);
    for (size_t r = 0; r < replicas; ++r)
        digest = digest_buffer(digest, &s[r], &s[r].shard.dx, s[r].elements);
    digest = digest_buffer(digest, &s[0], &s[0].shard.weight_grad, CHANNELS);
    must(sbn_evaluate(n->layers[layer], shards), "sbn_evaluate");
    digest = digest_y(digest, s, replicas);
    for (size_t r = 0; r < replicas; ++r)
        slice_close(&s[r]);
    return digest_layer(digest, n->layers[layer], NULL);
}

/* One replica, three, and one again: the bits of a network that never moved. */
static void check_moves(void)
{
    sbn_group *one = fixture_group(queue, 1, SBN_FORM_AUTO),
              *three = fixture_group(queue, REPLICAS, SBN_FORM_AUTO),
              *again = fixture_group(queue, 1, SBN_FORM_AUTO);
    network still, moved;
    sbn_saved *of_still, *of_moved;
    network_open(&still, &device, queue, one, 1);
    network_open(&moved, &device, queue, one, 1);
    of_still = fixture_saved(still.layers[0]);
    of_moved = fixture_saved(moved.layers[0]);
    tap_ok(step(&still, 0, 1, of_still, 1) == step(&moved, 0, 1, of_moved, 1), "before the move");
    must(sbn_model_set_training(moved.model, 0), "train");
    must(sbn_batchnorm_set_frozen(moved.layers[1], 1), "freeze");
    engine e = {&moved, 0, 0, 0};
    expect(sbn_model_set_group(moved.model, three, replicate, &e), SBN_SUCCESS, "",
           "to 3 replicas");
    tap_ok(e.calls == 2 * REPLICAS, "the engine was asked for %d replicas' buffers", e.calls);
    tap_ok(sbn_batchnorm_group(moved.layers[2]) == three && network_flags(&moved) == 020,
           "all are there, training and frozen stay");
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_settings(moved.layers[1], &config), "sbn_batchnorm_settings");
    tap_ok(config.channels == CHANNELS && config.momentum == 0.25 && config.eps == 1e-5 &&
               config.affine && config.track_running_stats &&
               !strcmp(config.name, network_names[1]),
           "and the settings");
    must(sbn_model_set_training(moved.model, 1), "train");
    slice s;
    slice_open(&s, &device, queue, 0, 1, CHANNELS, PLANE, 1);
    const sbn_shard shards[REPLICAS] = {s.shard, s.shard, s.shard};
    REFUSED(sbn_backward(moved.layers[0], shards, of_moved, 0, NULL),
            "saved|stem|changed its group");
    float mean[CHANNELS];
    REFUSED(sbn_saved_stats(of_moved, mean, NULL, NULL), "saved|stem|changed its group");
    REFUSED(sbn_forward(moved.layers[0], NULL, of_moved, 0, NULL), "shards: expected 3, got NULL");
    REFUSED(sbn_saved_stats(of_moved, mean, NULL, NULL), "saved: no forward pass has filled it");
    slice_close(&s);
    for (unsigned seed = 2; seed < 4; ++seed)
        tap_ok(step(&still, 0, 1, of_still, seed) == step(&moved, 0, REPLICAS, of_moved, seed),
               "on three replicas, the same bits");
    expect(sbn_model_set_group(moved.model, again, replicate, &e), SBN_SUCCESS, "", "and back");
    sbn_group_destroy(three);
    tap_ok(step(&still, 0, 1, of_still, 4) == step(&moved, 0, 1, of_moved, 4),
           "back on one, the same bits");
    tap_ok(sbn_batchnorm_is_frozen(moved.layers[1]), "the second is frozen still");
    sbn_saved_destroy(of_still);
    sbn_saved_destroy(of_moved);
    network_close(&still);
    network_close(&moved);
    sbn_group_destroy(one);
    sbn_group_destroy(again);
}

/* The same buffers where the replicas stay, and every refusal leaves all as it was. */
static void check_refused_moves(void)
{
    sbn_group *one = fixture_group(queue, 1, SBN_FORM_AUTO),
              *other = fixture_group(queue, 1, SBN_FORM_AUTO),
              *three = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    network n;
    slice s;
    sbn_pass *pass;
    network_open(&n, &device, queue, one, 1);
    const cl_mem before = n.parameters[0][0].weight.mem;
    expect(sbn_model_set_group(n.model, other, NULL, NULL), SBN_SUCCESS, "", "the buffers stay");
    tap_ok(n.model->entries[0].parameters[0].weight.mem == before, "they are the same ones");
    expect(sbn_model_set_group(n.model, other, NULL, NULL), SBN_SUCCESS, "", "to where it is");
    REFUSED(sbn_model_set_group(n.model, three, NULL, NULL), "stem|replicate|3 replicas|for 1");
    engine e = {&n, 0, 4, 0};
    expect(sbn_model_set_group(n.model, three, replicate, &e), CL_OUT_OF_RESOURCES,
           "block.0.norm|replica 0|CL_OUT_OF_RESOURCES", "an engine that fails");
    e.offset = 9;
    REFUSED(sbn_model_set_group(n.model, three, replicate, &e),
            "stem: bias: expected 4 floats from offset");
    sbn_saved *saved = fixture_saved(n.layers[0]);
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    must(sbn_forward_begin(n.layers[0], &s.shard, saved, 0, &pass), "begin");
    REFUSED(sbn_model_set_group(n.model, one, NULL, NULL), "stem|under way");
    REFUSED(sbn_model_set_frozen(n.model, 1), "stem|under way");
    tap_ok(network_flags(&n) == 07, "none is frozen");
    must(sbn_pass_end(pass, NULL), "end");
    REFUSED(sbn_model_set_group(n.model, NULL, NULL, NULL), "group|NULL");
    REFUSED(sbn_batchnorm_set_group(n.layers[0], (sbn_group *)n.model), "group|got another");
    for (size_t i = 0; i < LAYERS; ++i)
        tap_ok(sbn_batchnorm_group(n.layers[i]) == other, "%s is where it was", network_names[i]);
    tap_ok(n.model->entries[0].replicas == 1 &&
               n.model->entries[0].parameters[0].weight.mem == before,
           "with its buffers");
    slice_close(&s);
    sbn_saved_destroy(saved);
    network_close(&n);
    sbn_group_destroy(one);
    sbn_group_destroy(other);
    sbn_group_destroy(three);
}

void checks(void)
{
    check_moves();
    check_refused_moves();
}
