/*
 * Models: names, switches of all layers, parameters in and out; the dimensions that a layer takes. Models move to
 * another group and back, and keep everything: the bits of a network that never moved. What is refused changes nothing.
 */
#include <string.h>

#include "model/model.h"
#include "support/main.h"
#include "support/network.h"
#include "support/refused.h"
#include "support/wraps.h"

static void check_set(sbn_group *group)
{
    network n;
    size_t index = 77;
    network_open(&n, &device, queue, group, 1);
    tap_ok(sbn_model_size(n.model) == LAYERS && sbn_model_size(NULL) == 0, "three layers");
    for (size_t i = 0; i < LAYERS; ++i)
        tap_ok(sbn_model_layer(n.model, i) == n.layers[i] &&
                   strcmp(sbn_model_name(n.model, i), network_names[i]) == 0 &&
                   sbn_model_find(n.model, network_names[i], &index) == n.layers[i] && index == i,
               "layer %d is %s", (int)i, network_names[i]);
    tap_ok(!sbn_model_layer(n.model, LAYERS) && !sbn_model_name(n.model, LAYERS) &&
               !sbn_model_find(n.model, "block", NULL) && !sbn_model_find(n.model, NULL, NULL),
           "there are no others");

    sbn_batchnorm *other = LAYER_WITH(group, .channels = CHANNELS),
                  *plain = LAYER_WITH(group, .channels = 1000, .affine = OFF);
    sbn_parameters bad[] = {n.parameters[0][0]};
    REFUSED(sbn_model_add(n.model, "stem", other, NULL), "name|got \"stem\"");
    REFUSED(sbn_model_add(n.model, "stem2", n.layers[0], NULL),
            "layer of \"stem2\"|got the layer of \"stem\"");
    REFUSED(sbn_model_add(n.model, NULL, other, NULL), "name|NULL");
    REFUSED(sbn_model_add(n.model, "x\xff", other, NULL), "name|UTF-8");
    REFUSED(sbn_model_add(n.model, "x", (sbn_batchnorm *)group, NULL), "layer|got another");
    REFUSED(sbn_model_add((sbn_model *)group, "x", other, NULL), "model|got another");
    bad->weight.offset = 9;
    REFUSED(sbn_model_add(n.model, "x", other, bad),
            "x: weight: expected 4 floats from offset 9, got a buffer of 12");
    char hostile[700] = "x\033\xe2\x80\xae";
    REFUSED(sbn_model_add(n.model, hostile, other, bad), "x??: weight: expected 4 floats");
    memset(hostile, 'x', sizeof hostile - 1);
    REFUSED(sbn_model_add(n.model, hostile, other, bad),
            "xxx...xxx|: weight: expected 4 floats from offset 9, got a buffer of 12");
    bad->weight.offset = 8; /* which just fits */
    bad->bias.mem = NULL;
    REFUSED(sbn_model_add(n.model, "x", other, bad), "x: bias|got NULL");
    bad->size = 0;
    REFUSED(sbn_model_add(n.model, "x", other, bad),
            "parameters|size: expected sizeof(sbn_parameters)|got 0");
    REFUSED(sbn_model_add(n.model, "\xf0\x9f\x98\x80", plain, n.parameters[0]),
            "parameters: expected NULL for layer \"\xf0\x9f\x98\x80\"|no weight or bias");
    tap_ok(sbn_model_size(n.model) == LAYERS, "refused, none was added");
    must(sbn_model_add(n.model, "", other, NULL), "sbn_model_add");
    REFUSED(sbn_model_set_parameters(n.model, LAYERS, NULL, NULL), "not told where");
    REFUSED(sbn_model_create(NULL), "model|NULL");
    sbn_batchnorm_destroy(plain);
    network_close(&n);
    sbn_batchnorm_destroy(other);
}

static void check_switches(sbn_group *group)
{
    network n;
    network_open(&n, &device, queue, group, 1);
    tap_ok(network_flags(&n) == 07, "all train");
    must(sbn_model_set_training(n.model, 0), "train");
    tap_ok(network_flags(&n) == 00, "all evaluate");
    must(sbn_model_set_frozen(n.model, 1), "freeze");
    must(sbn_model_set_training(n.model, 1), "train");
    tap_ok(network_flags(&n) == 077, "all are frozen, and train when released");
    must(sbn_model_set_frozen(n.model, 0), "freeze");
    tap_ok(network_flags(&n) == 07, "all are released");
    REFUSED(sbn_model_set_training(n.model, -1), "training|got -1");
    REFUSED(sbn_model_set_frozen(NULL, 1), "model|NULL");
    REFUSED(sbn_model_reset_running_stats(NULL), "model|NULL");
    network_close(&n);
}

static void check_parameters(sbn_group *group)
{
    network n;
    float weight[CHANNELS], bias[CHANNELS], mean[CHANNELS], var[CHANNELS];
    const float twos[CHANNELS] = {2, 2, 2, 2}, threes[CHANNELS] = {3, 3, 3, 3};
    const int64_t nine = 9;
    int64_t tracked;
    network_open(&n, &device, queue, group, REPLICAS);
    must(sbn_model_parameters(n.model, 1, NULL, bias), "get");
    must(sbn_model_parameters(n.model, 1, weight, NULL), "get");
    tap_ok(weight[0] == 2.5f && weight[3] == 5.5f && bias[3] == -2.5f, "what the device holds");
    must(sbn_model_set_parameters(n.model, 1, twos, NULL), "set");
    must(sbn_model_set_parameters(n.model, 1, NULL, threes), "set");
    tap_ok(network_holds(&n, 1, 0, 2, 3) && network_holds(&n, 1, REPLICAS - 1, 2, 3),
           "every replica has it");
    must(sbn_batchnorm_set_running_stats(n.layers[0], twos, threes, &nine), "set");
    must(sbn_model_reset_running_stats(n.model), "reset");
    must(sbn_batchnorm_running_stats(n.layers[0], mean, var, &tracked), "get");
    tap_ok(mean[1] == 0 && var[1] == 1 && tracked == 0 && network_holds(&n, 1, 0, 2, 3),
           "reset_running_stats: 0, 1, none, and the parameters stay");
    must(sbn_batchnorm_set_running_stats(n.layers[0], twos, threes, &nine), "set");
    must(sbn_model_reset_parameters(n.model), "reset");
    must(sbn_batchnorm_running_stats(n.layers[0], mean, var, &tracked), "get");
    tap_ok(mean[1] == 0 && var[1] == 1 && tracked == 0, "reset_parameters: the statistics too");
    tap_ok(network_holds(&n, 0, 0, 1, 0) && network_holds(&n, 1, 0, 1, 0) &&
               network_holds(&n, 1, 2, 1, 0),
           "weight 1, bias 0 on every replica");
    REFUSED(sbn_model_parameters(n.model, 2, weight, bias), "plain|no weight and bias");
    REFUSED(sbn_model_parameters(n.model, 3, weight, bias), "index|below 3|got 3");
    REFUSED(sbn_model_parameters(NULL, 0, weight, bias), "model|NULL");
    network_close(&n);
}

/* Evaluation by a layer in so many dimensions, of a tensor of so many. */
static int evaluate(sbn_group *group, sbn_shard *shard, int dimensions, int dims)
{
    sbn_batchnorm *layer = LAYER_WITH(group, .channels = CHANNELS, .dimensions = dimensions);
    shard->dims = dims;
    const int status = sbn_evaluate(layer, shard);
    must(clFinish(queue), "clFinish");
    sbn_batchnorm_destroy(layer);
    return status;
}

static void check_dimensions(sbn_group *group)
{
    slice s;
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    s.shard.shape[3] = s.shard.shape[4] = 1;
    RIGHT(evaluate(group, &s.shard, 1, 2));
    RIGHT(evaluate(group, &s.shard, 1, 3));
    REFUSED(evaluate(group, &s.shard, 1, 4),
            "expected (N,C) or (N,C,L) for a layer in 1 dimension, got (6,4,20,1)");
    RIGHT(evaluate(group, &s.shard, 2, 4));
    REFUSED(evaluate(group, &s.shard, 2, 2),
            "expected (N,C,H,W) for a layer in 2 dimensions, got (6,4)");
    REFUSED(evaluate(group, &s.shard, 2, 5), "(N,C,H,W)|got (6,4,20,1,1)");
    RIGHT(evaluate(group, &s.shard, 3, 5));
    REFUSED(evaluate(group, &s.shard, 3, 4),
            "expected (N,C,D,H,W) for a layer in 3 dimensions, got (6,4,20,1)");
    RIGHT(evaluate(group, &s.shard, 0, 2));
    slice_close(&s);
}

/* A pass that fails on its device after it has returned: a load that meets that says so, and loads nothing. */
static void check_late_error(sbn_group *group)
{
    const sbn_load_config lenient = {sizeof lenient, 0, NULL, NULL};
    const life l = LIVE_WITH(group, .channels = CHANNELS, .affine = OFF);
    const char *file = data_path("network_f32.safetensors");
    sbn_model *model;
    slice s;
    must(sbn_model_create(&model), "sbn_model_create");
    must(sbn_model_add(model, "1", l.layer, NULL), "sbn_model_add");
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    must(sbn_forward(l.layer, &s.shard, l.saved, 0, NULL), "sbn_forward");
    wraps_condemn(1);
    expect(sbn_model_load(model, file, &lenient), CL_OUT_OF_RESOURCES,
           "running statistics of layer \"batchnorm\": a forward pass has failed", "a load");
    wraps_condemn(0);
    tap_ok(fixture_batches(l.layer) == 1, "which loads nothing");
    expect(sbn_model_load(model, file, &lenient), SBN_SUCCESS, "", "the next load");
    tap_ok(fixture_batches(l.layer) == 3, "which does");
    slice_close(&s);
    must(sbn_model_destroy(model), "sbn_model_destroy");
    fixture_end(l.layer, l.saved);
}

/* --- from group to group --- */

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

/* A training step of the first layer on shards of 6 samples: 6, or 1, 2 and 3. */
static uint64_t step(const network *n, size_t replicas, sbn_saved *saved, unsigned seed)
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
        shards[r].weight = n->parameters[0][r].weight;
        shards[r].bias = n->parameters[0][r].bias;
    }
    /* By what has moved with the layer, and later by what it has learnt. */
    must(sbn_evaluate(n->layers[0], shards), "sbn_evaluate");
    digest = digest_y(digest, s, replicas);
    must(sbn_forward(n->layers[0], shards, saved, 0, NULL), "sbn_forward");
    must(sbn_backward(n->layers[0], shards, saved, SBN_GLOBAL_GRADIENTS, NULL), "backward");
    digest = digest_y(digest, s, replicas);
    for (size_t r = 0; r < replicas; ++r)
        digest = digest_buffer(digest, &s[r], &s[r].shard.dx, s[r].elements);
    digest = digest_buffer(digest, &s[0], &s[0].shard.weight_grad, CHANNELS);
    must(sbn_evaluate(n->layers[0], shards), "sbn_evaluate");
    digest = digest_y(digest, s, replicas);
    slices_close(s, replicas);
    return digest_layer(digest, n->layers[0], NULL);
}

/* One replica, three, one, none on this rank, and one again: the bits of a network that never moved. */
static void check_moves(sbn_group *one)
{
    sbn_group *three = fixture_group(queue, REPLICAS, SBN_FORM_AUTO),
              *again = fixture_group(queue, 1, SBN_FORM_AUTO);
    network still, moved;
    sbn_saved *of_still, *of_moved;
    network_open(&still, &device, queue, one, 1);
    network_open(&moved, &device, queue, one, 1);
    of_still = fixture_saved(still.layers[0]);
    of_moved = fixture_saved(moved.layers[0]);
    tap_ok(step(&still, 1, of_still, 1) == step(&moved, 1, of_moved, 1), "before the move");
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
        tap_ok(step(&still, 1, of_still, seed) == step(&moved, REPLICAS, of_moved, seed),
               "on three replicas, the same bits");
    const long finished = wraps_calls[WRAP_FINISH];
    expect(sbn_model_set_group(moved.model, again, replicate, &e), SBN_SUCCESS, "", "and back");
    tap_ok(wraps_calls[WRAP_FINISH] - finished >= 2 * (REPLICAS + 2),
           "behind what the former queues have to do: %ld", wraps_calls[WRAP_FINISH] - finished);
    sbn_group_destroy(three);
    tap_ok(step(&still, 1, of_still, 4) == step(&moved, 1, of_moved, 4),
           "back on one, the same bits");
    tap_ok(sbn_batchnorm_is_frozen(moved.layers[1]), "the second is frozen still");
    sbn_group *none = GROUP_WITH(NULL, .transport = &fixture_unanswered);
    expect(sbn_model_set_group(moved.model, none, replicate, &e), SBN_SUCCESS, "", "to none");
    const int status = sbn_model_set_group(moved.model, again, replicate, &e);
    expect(status, SBN_SUCCESS, "", "and back from there");
    sbn_group_destroy(none);
    tap_ok(!status && step(&still, 1, of_still, 5) == step(&moved, 1, of_moved, 5),
           "by what its new buffers hold, the same bits");
    sbn_saved_destroy(of_still);
    sbn_saved_destroy(of_moved);
    network_close(&still);
    network_close(&moved);
    sbn_group_destroy(again);
}

/* The same buffers where the replicas stay, and every refusal leaves all as it was. */
static void check_refused_moves(sbn_group *one, sbn_group *three)
{
    sbn_group *other = fixture_group(queue, 1, SBN_FORM_AUTO);
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
    RIGHT(sbn_model_set_training(n.model, 1));
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
    sbn_group_destroy(other);
}

/* The model's buffers are one for each replica of the group that a layer was in. */
static void check_moved_alone(sbn_group *three, sbn_group *one)
{
    static const char words[] = "layer \"stem\": expected a group of 3 replicas, whose buffers the "
                                "model knows, got one of 1; move it back, then all by "
                                "sbn_model_set_group";
    float weight[CHANNELS] = {0}, bias[CHANNELS] = {0};
    network n;
    engine e = {&n, 0, 0, 0};
    network_open(&n, &device, queue, three, REPLICAS);
    must(sbn_batchnorm_set_group(n.layers[0], one), "sbn_batchnorm_set_group");
    REFUSED(sbn_model_set_parameters(n.model, 0, weight, bias), words);
    REFUSED(sbn_model_parameters(n.model, 0, weight, bias), words);
    REFUSED(sbn_model_load(n.model, data_path("network_f16.safetensors"), NULL), words);
    REFUSED(sbn_model_save(n.model, "/nonexistent/file", NULL), words);
    REFUSED(sbn_model_reset_parameters(n.model), words);
    REFUSED(sbn_model_set_group(n.model, three, NULL, NULL), words);
    REFUSED(sbn_model_set_group(n.model, three, replicate, &e), words);
    tap_ok(!e.calls && sbn_batchnorm_group(n.layers[0]) == one &&
               sbn_batchnorm_group(n.layers[1]) == three,
           "all layers are where they were");
    must(sbn_batchnorm_set_group(n.layers[0], three), "sbn_batchnorm_set_group");
    REFUSED(sbn_model_set_group(n.model, one, NULL, NULL), "stem|replicate|1 replicas|for 3");
    expect(sbn_model_set_parameters(n.model, 0, weight, bias), SBN_SUCCESS, "", "moved back");
    network_close(&n);
}

void checks(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO);
    sbn_group *three = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    check_set(group);
    check_switches(group);
    check_parameters(three);
    check_dimensions(group);
    check_late_error(group);
    check_moves(group);
    check_refused_moves(group, three);
    check_moved_alone(three, group);
    sbn_group_destroy(group);
    sbn_group_destroy(three);
}
