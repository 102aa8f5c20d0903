/*
 * Models: names, switches of all layers, parameters in and out, and moves to
 * another group and back, which keep everything; what is refused changes
 * nothing.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handles.h"
#include "vectors.h"

enum { LAYERS = 3, REPLICAS = 3, CHANNELS = 4, PLANE = 20, SAMPLES = 6 };

static fixture device;
static cl_command_queue queue;
static const char *const names[LAYERS] = {"stem", "block.0.norm", "plain"};

static sbn_group *make_group(size_t replicas)
{
    const cl_command_queue queues[REPLICAS] = {queue, queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *made;
    config.queues = queues;
    config.replicas = replicas;
    must(sbn_group_create(&config, &made), "sbn_group_create");
    return made;
}

/* A network of three layers; "plain" has neither weight nor running statistics. */
typedef struct network {
    sbn_model *model;
    sbn_batchnorm *layers[LAYERS];
    sbn_parameters parameters[LAYERS][REPLICAS]; /* as many as were ever made */
    size_t made;                                 /* replicas with buffers */
} network;

static sbn_parameters make_parameters(float weight, float bias)
{
    float values[2][CHANNELS];
    for (size_t c = 0; c < CHANNELS; ++c) {
        values[0][c] = weight + (float)c;
        values[1][c] = bias - (float)c;
    }
    return (sbn_parameters){buffer_of(&device, queue, values[0], CHANNELS),
                            buffer_of(&device, queue, values[1], CHANNELS)};
}

static void network_open(network *n, sbn_group *group, size_t replicas)
{
    memset(n, 0, sizeof *n);
    n->made = replicas;
    must(sbn_model_create(&n->model), "sbn_model_create");
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        config.name = names[i];
        config.channels = CHANNELS;
        config.momentum = 0.25;
        config.affine = config.track_running_stats = i != 2;
        must(sbn_batchnorm_create(group, &config, &n->layers[i]), "sbn_batchnorm_create");
        for (size_t r = 0; r < replicas && i != 2; ++r)
            n->parameters[i][r] = make_parameters(1.5f + (float)i, 0.5f);
        must(sbn_model_add(n->model, names[i], n->layers[i], i == 2 ? NULL : n->parameters[i]),
             "sbn_model_add");
    }
}

static void release(sbn_parameters *p)
{
    if (p->weight.mem)
        clReleaseMemObject(p->weight.mem);
    if (p->bias.mem)
        clReleaseMemObject(p->bias.mem);
    *p = (sbn_parameters){{NULL, 0}, {NULL, 0}};
}

static void network_close(network *n)
{
    clFinish(queue);
    sbn_model_destroy(n->model);
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_destroy(n->layers[i]);
        for (size_t r = 0; r < REPLICAS; ++r)
            release(&n->parameters[i][r]);
    }
}

static void check_set(sbn_group *group)
{
    network n;
    size_t index = 77;
    network_open(&n, group, 1);
    tap_ok(sbn_model_size(n.model) == LAYERS && sbn_model_size(NULL) == 0, "three layers");
    for (size_t i = 0; i < LAYERS; ++i)
        tap_ok(sbn_model_layer(n.model, i) == n.layers[i] &&
                   strcmp(sbn_model_name(n.model, i), names[i]) == 0 &&
                   sbn_model_find(n.model, names[i], &index) == n.layers[i] && index == i,
               "layer %d is %s", (int)i, names[i]);
    tap_ok(!sbn_model_layer(n.model, LAYERS) && !sbn_model_name(n.model, LAYERS) &&
               !sbn_model_find(n.model, "block", NULL) && !sbn_model_find(n.model, NULL, NULL),
           "there are no others");

    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *other;
    config.channels = 1000;
    must(sbn_batchnorm_create(group, &config, &other), "sbn_batchnorm_create");
    expect(sbn_model_add(n.model, "stem", other, NULL), SBN_INVALID_ARGUMENT, "name|\"stem\" came",
           "a name twice");
    expect(sbn_model_add(n.model, "stem2", n.layers[0], NULL), SBN_INVALID_ARGUMENT,
           "layer|\"stem2\"|as \"stem\"", "a layer twice");
    expect(sbn_model_add(n.model, NULL, other, NULL), SBN_INVALID_ARGUMENT, "name|NULL", "no name");
    expect(sbn_model_add(n.model, "x", (sbn_batchnorm *)group, NULL), SBN_INVALID_ARGUMENT,
           "layer|another came", "a group as a layer");
    expect(sbn_model_add((sbn_model *)group, "x", other, NULL), SBN_INVALID_ARGUMENT,
           "model|another came", "a group as a model");
    expect(sbn_model_add(n.model, "x", other, n.parameters[0]), SBN_INVALID_ARGUMENT,
           "x: weight: 1000 floats|holds", "small buffers");
    const sbn_parameters none[1] = {{{NULL, 0}, {NULL, 0}}};
    expect(sbn_model_add(n.model, "x", other, none), SBN_INVALID_ARGUMENT, "x: weight|NULL came",
           "no buffers");
    tap_ok(sbn_model_size(n.model) == LAYERS, "refused, none was added");
    expect(sbn_model_create(NULL), SBN_INVALID_ARGUMENT, "model|NULL", "no place");
    sbn_batchnorm_destroy(other);
    network_close(&n);
}

/* Flags of all layers, as bits. */
static int flags(const network *n)
{
    int bits = 0;
    for (size_t i = 0; i < LAYERS; ++i)
        bits |= sbn_batchnorm_is_training(n->layers[i]) << i | sbn_batchnorm_is_frozen(n->layers[i])
                                                                   << (i + LAYERS);
    return bits;
}

static void check_switches(sbn_group *group)
{
    network n;
    slice s;
    sbn_saved *saved;
    sbn_pass *pass;
    network_open(&n, group, 1);
    tap_ok(flags(&n) == 07, "all train");
    must(sbn_model_train(n.model, 0), "train");
    tap_ok(flags(&n) == 00, "all evaluate");
    must(sbn_model_freeze(n.model, 1), "freeze");
    must(sbn_model_train(n.model, 1), "train");
    tap_ok(flags(&n) == 077, "all are frozen, and train when released");
    must(sbn_model_freeze(n.model, 0), "freeze");
    must(sbn_saved_create(n.layers[1], &saved), "sbn_saved_create");
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    must(sbn_forward_begin(n.layers[1], &s.share, saved, 0, &pass), "begin");
    expect(sbn_model_freeze(n.model, 1), SBN_INVALID_ARGUMENT, "block.0.norm|under way",
           "freezing while a pass is under way");
    tap_ok(flags(&n) == 07, "none was frozen");
    must(sbn_pass_end(pass, NULL), "end");
    expect(sbn_model_train(n.model, -1), SBN_INVALID_ARGUMENT, "training|-1 came", "train -1");
    expect(sbn_model_freeze(NULL, 1), SBN_INVALID_ARGUMENT, "model|NULL", "no model");
    slice_close(&s);
    sbn_saved_destroy(saved);
    network_close(&n);
}

static int holds(const network *n, size_t layer, size_t replica, float weight, float bias)
{
    const slice s = {.queue = queue};
    float got[2][CHANNELS];
    buffer_read(&s, &n->parameters[layer][replica].weight, CHANNELS, got[0]);
    buffer_read(&s, &n->parameters[layer][replica].bias, CHANNELS, got[1]);
    int same = 1;
    for (size_t c = 0; c < CHANNELS; ++c)
        same = same && got[0][c] == weight && got[1][c] == bias;
    return same;
}

static void check_parameters(sbn_group *group)
{
    network n;
    float weight[CHANNELS], bias[CHANNELS], mean[CHANNELS], var[CHANNELS];
    const float twos[CHANNELS] = {2, 2, 2, 2}, threes[CHANNELS] = {3, 3, 3, 3};
    const int64_t nine = 9;
    int64_t tracked;
    network_open(&n, group, REPLICAS);
    must(sbn_model_get_parameters(n.model, 1, weight, bias), "get");
    tap_ok(weight[0] == 2.5f && weight[3] == 5.5f && bias[3] == -2.5f, "what the device holds");
    must(sbn_model_set_parameters(n.model, 1, twos, NULL), "set");
    must(sbn_model_set_parameters(n.model, 1, NULL, threes), "set");
    tap_ok(holds(&n, 1, 0, 2, 3) && holds(&n, 1, REPLICAS - 1, 2, 3), "every replica has it");
    must(sbn_batchnorm_set_running_stats(n.layers[0], twos, threes, &nine), "set");
    must(sbn_model_reset_running_stats(n.model), "reset");
    must(sbn_batchnorm_get_running_stats(n.layers[0], mean, var, &tracked), "get");
    tap_ok(mean[1] == 0 && var[1] == 1 && tracked == 0 && holds(&n, 1, 0, 2, 3),
           "reset_running_stats: 0, 1, none, and the parameters stay");
    must(sbn_batchnorm_set_running_stats(n.layers[0], twos, threes, &nine), "set");
    must(sbn_model_reset_parameters(n.model), "reset");
    must(sbn_batchnorm_get_running_stats(n.layers[0], mean, var, &tracked), "get");
    tap_ok(mean[1] == 0 && var[1] == 1 && tracked == 0, "reset_parameters: the statistics too");
    tap_ok(holds(&n, 0, 0, 1, 0) && holds(&n, 1, 0, 1, 0) && holds(&n, 1, 2, 1, 0),
           "weight 1, bias 0 on every replica");
    expect(sbn_model_get_parameters(n.model, 2, weight, bias), SBN_INVALID_ARGUMENT,
           "plain|no weight and bias", "of a layer without");
    expect(sbn_model_get_parameters(n.model, 3, weight, bias), SBN_INVALID_ARGUMENT,
           "index|below 3|3 came", "of none");
    sbn_model *bare;
    must(sbn_model_create(&bare), "sbn_model_create");
    must(sbn_model_add(bare, "", n.layers[0], NULL), "sbn_model_add");
    expect(sbn_model_set_parameters(bare, 0, twos, twos), SBN_INVALID_ARGUMENT, "not told where",
           "of buffers that the model does not know");
    sbn_model_destroy(bare);
    network_close(&n);
}

/* An engine's replication: buffers for each replica, as it goes. */
typedef struct engine {
    network *network;
    int calls, fail_at;
} engine;

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *parameters)
{
    engine *e = context;
    size_t index;
    if (++e->calls == e->fail_at)
        return CL_OUT_OF_RESOURCES;
    if (sbn_model_find(e->network->model, name, &index) != layer)
        return SBN_INVALID_ARGUMENT;
    if (!e->network->parameters[index][replica].weight.mem)
        e->network->parameters[index][replica] = make_parameters(PATTERN, PATTERN);
    *parameters = e->network->parameters[index][replica];
    return SBN_SUCCESS;
}

/* A training step of a layer on shares of 6 samples: 6, or 1, 2 and 3. */
static uint64_t step(const network *n, size_t layer, size_t replicas, sbn_saved *saved,
                     unsigned seed)
{
    slice s[REPLICAS];
    sbn_share shares[REPLICAS] = {{0}};
    uint64_t digest = DIGEST_START;
    size_t first = 0;
    for (size_t r = 0; r < replicas; ++r) {
        const size_t samples = replicas == 1 ? SAMPLES : r + 1;
        slice_open(&s[r], &device, queue, first, samples, CHANNELS, PLANE, seed);
        first += samples;
        shares[r] = s[r].share;
        shares[r].weight = n->parameters[layer][r].weight;
        shares[r].bias = n->parameters[layer][r].bias;
    }
    must(sbn_forward(n->layers[layer], shares, saved, 0, NULL), "sbn_forward");
    must(sbn_backward(n->layers[layer], shares, saved, SBN_GLOBAL_GRADIENTS, NULL), "backward");
    for (size_t r = 0; r < replicas; ++r)
        digest = digest_buffer(digest, &s[r], &s[r].share.y, s[r].elements);
    for (size_t r = 0; r < replicas; ++r)
        digest = digest_buffer(digest, &s[r], &s[r].share.dx, s[r].elements);
    digest = digest_buffer(digest, &s[0], &s[0].share.weight_grad, CHANNELS);
    must(sbn_evaluate(n->layers[layer], shares), "sbn_evaluate");
    for (size_t r = 0; r < replicas; ++r)
        digest = digest_buffer(digest, &s[r], &s[r].share.y, s[r].elements);
    for (size_t r = 0; r < replicas; ++r)
        slice_close(&s[r]);
    float mean[CHANNELS], var[CHANNELS];
    must(sbn_batchnorm_get_running_stats(n->layers[layer], mean, var, NULL), "get");
    return digest_of(digest_of(digest, mean, sizeof mean), var, sizeof var);
}

/* One replica, three, and one again: the bits of a network that never moved. */
static void check_moves(void)
{
    sbn_group *one = make_group(1), *three = make_group(REPLICAS), *again = make_group(1);
    network still, moved;
    sbn_saved *of_still, *of_moved;
    network_open(&still, one, 1);
    network_open(&moved, one, 1);
    must(sbn_saved_create(still.layers[1], &of_still), "sbn_saved_create");
    must(sbn_saved_create(moved.layers[1], &of_moved), "sbn_saved_create");
    tap_ok(step(&still, 1, 1, of_still, 1) == step(&moved, 1, 1, of_moved, 1), "before the move");
    must(sbn_model_train(moved.model, 0), "train");
    must(sbn_batchnorm_freeze(moved.layers[0], 1), "freeze");
    engine e = {&moved, 0, 0};
    expect(sbn_model_convert(moved.model, three, replicate, &e), SBN_SUCCESS, "", "to 3 replicas");
    tap_ok(e.calls == 2 * REPLICAS, "the engine was asked for %d replicas' buffers", e.calls);
    tap_ok(sbn_batchnorm_group(moved.layers[2]) == three && flags(&moved) == 010,
           "all are there, training and frozen stay");
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_get_config(moved.layers[1], &config), "sbn_batchnorm_get_config");
    tap_ok(config.channels == CHANNELS && config.momentum == 0.25 && config.eps == 1e-5 &&
               config.affine && config.track_running_stats && !strcmp(config.name, names[1]),
           "and the settings");
    must(sbn_model_train(moved.model, 1), "train");
    slice s;
    slice_open(&s, &device, queue, 0, 1, CHANNELS, PLANE, 1);
    const sbn_share shares[REPLICAS] = {s.share, s.share, s.share};
    expect(sbn_backward(moved.layers[1], shares, of_moved, 0, NULL), SBN_INVALID_ARGUMENT,
           "saved|block.0.norm|changed its group", "a backward pass of a forward before the move");
    slice_close(&s);
    for (unsigned seed = 2; seed < 4; ++seed)
        tap_ok(step(&still, 1, 1, of_still, seed) == step(&moved, 1, REPLICAS, of_moved, seed),
               "on three replicas, the same bits");
    expect(sbn_model_convert(moved.model, again, replicate, &e), SBN_SUCCESS, "", "and back");
    sbn_group_destroy(three);
    tap_ok(step(&still, 1, 1, of_still, 4) == step(&moved, 1, 1, of_moved, 4),
           "back on one, the same bits");
    tap_ok(sbn_batchnorm_is_frozen(moved.layers[0]), "the first is frozen still");
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
    sbn_group *one = make_group(1), *other = make_group(1), *three = make_group(REPLICAS);
    network n;
    slice s;
    sbn_saved *saved;
    sbn_pass *pass;
    network_open(&n, one, 1);
    const cl_mem before = n.parameters[0][0].weight.mem;
    expect(sbn_model_convert(n.model, other, NULL, NULL), SBN_SUCCESS, "", "the buffers stay");
    tap_ok(n.model->entries[0].parameters[0].weight.mem == before, "they are the same ones");
    expect(sbn_model_convert(n.model, other, NULL, NULL), SBN_SUCCESS, "", "to where it is");
    expect(sbn_model_convert(n.model, three, NULL, NULL), SBN_INVALID_ARGUMENT,
           "stem|replicate|3 replicas|for 1", "more replicas, and nobody to ask");
    engine e = {&n, 0, 4};
    expect(sbn_model_convert(n.model, three, replicate, &e), CL_OUT_OF_RESOURCES,
           "block.0.norm|replica 0|CL_OUT_OF_RESOURCES", "an engine that fails");
    must(sbn_saved_create(n.layers[1], &saved), "sbn_saved_create");
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    must(sbn_forward_begin(n.layers[1], &s.share, saved, 0, &pass), "begin");
    expect(sbn_model_convert(n.model, one, NULL, NULL), SBN_INVALID_ARGUMENT,
           "block.0.norm|under way", "while a pass is under way");
    must(sbn_pass_end(pass, NULL), "end");
    expect(sbn_model_convert(n.model, NULL, NULL, NULL), SBN_INVALID_ARGUMENT, "group|NULL",
           "no group");
    expect(sbn_batchnorm_convert(n.layers[0], (sbn_group *)n.model), SBN_INVALID_ARGUMENT,
           "group|another came", "a model as the group");
    for (size_t i = 0; i < LAYERS; ++i)
        tap_ok(sbn_batchnorm_group(n.layers[i]) == other, "%s is where it was", names[i]);
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

static void check_dimensions(sbn_group *group)
{
    static const struct {
        int layer, dims;
        const char *words;
    } cases[] = {
        {1, 2, ""},
        {1, 3, ""},
        {1, 4, "(N,C) or (N,C,L) was expected of a layer in 1 dimension, (6,4,20,1) came"},
        {2, 4, ""},
        {2, 2, "(N,C,H,W) was expected of a layer in 2 dimensions, (6,4) came"},
        {2, 3, "(N,C,H,W)|2 dimensions, (6,4,20) came"},
        {2, 5, "(N,C,H,W)|(6,4,20,1,1) came"},
        {3, 5, ""},
        {3, 4, "(N,C,D,H,W) was expected of a layer in 3 dimensions, (6,4,20,1) came"},
        {0, 2, ""},
        {0, 5, ""},
    };
    slice s;
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    s.share.shape[3] = s.share.shape[4] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        sbn_batchnorm *layer;
        char what[64];
        config.channels = CHANNELS;
        config.dimensions = cases[i].layer;
        must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
        s.share.dims = cases[i].dims;
        snprintf(what, sizeof what, "a layer in %d dimensions, a tensor of %d", cases[i].layer,
                 cases[i].dims);
        expect(sbn_evaluate(layer, &s.share), *cases[i].words ? SBN_INVALID_ARGUMENT : SBN_SUCCESS,
               cases[i].words, what);
        must(clFinish(queue), "clFinish");
        sbn_batchnorm_destroy(layer);
    }
    slice_close(&s);
}

/* PyTorch's running statistics: momentum 0.1, 0.3, None; and after reset_parameters. */
static void check_trained(sbn_group *group)
{
    static const struct {
        const char *name;
        sbn_average average;
        double momentum;
    } cases[] = {{"tenth", SBN_AVERAGE_MOMENTUM, 0.1},
                 {"more", SBN_AVERAGE_MOMENTUM, 0.3},
                 {"none", SBN_AVERAGE_CUMULATIVE, 0.1}};
    enum { BATCHES = 3, OF = 4 * 3 * 9 };
    sbn_tensor_file file;
    vectors_open(&file, "trained.safetensors");
    float *x = vectors_get(&file, "", "x", NULL);
    for (size_t i = 0; i < 3; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        sbn_batchnorm *layer;
        sbn_saved *saved;
        float got[6];
        int64_t tracked;
        config.channels = 3;
        config.affine = 0;
        config.average = cases[i].average;
        config.momentum = cases[i].momentum;
        must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
        must(sbn_saved_create(layer, &saved), "sbn_saved_create");
        for (size_t b = 0; b < BATCHES; ++b) {
            sbn_share share = {.dims = 3, .shape = {4, 3, 9}};
            share.x = buffer_of(&device, queue, x + b * OF, OF);
            share.y = buffer_of(&device, queue, NULL, OF);
            must(sbn_forward(layer, &share, saved, 0, NULL), "sbn_forward");
            must(clFinish(queue), "clFinish");
            clReleaseMemObject(share.x.mem);
            clReleaseMemObject(share.y.mem);
        }
        for (int reset = 0; reset < 2; ++reset) {
            char group_name[32];
            snprintf(group_name, sizeof group_name, reset ? "%s.reset" : "%s", cases[i].name);
            float *mean = vectors_get(&file, group_name, "running_mean", NULL);
            float *var = vectors_get(&file, group_name, "running_var", NULL);
            must(sbn_batchnorm_get_running_stats(layer, got, got + 3, &tracked), "get");
            double worst = 0.0;
            for (int c = 0; c < 3; ++c) {
                const double off_mean = (double)got[c] - mean[c],
                             off_var = (double)got[3 + c] - var[c];
                worst = off_mean * off_mean > worst ? off_mean * off_mean : worst;
                worst = off_var * off_var > worst ? off_var * off_var : worst;
            }
            /* Three roundings of values below 2. */
            tap_ok(worst <= 0x1p-22 * 0x1p-22 && tracked == (reset ? 0 : BATCHES),
                   "%s: %lld batches, off by the root of %g", group_name, (long long)tracked,
                   worst);
            free(mean);
            free(var);
            must(sbn_batchnorm_reset_running_stats(layer), "reset");
        }
        sbn_saved_destroy(saved);
        sbn_batchnorm_destroy(layer);
    }
    free(x);
    sbn_tensor_file_close(&file);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    const long at_start = sbn_handles_open();
    queue = fixture_queue(&device, 0);
    sbn_group *group = make_group(1), *three = make_group(REPLICAS);
    check_set(group);
    check_switches(group);
    check_parameters(three);
    check_moves();
    check_refused_moves();
    check_dimensions(group);
    check_trained(group);
    sbn_group_destroy(group);
    sbn_group_destroy(three);
    tap_ok(sbn_handles_open() == at_start, "no handle is left open");
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
