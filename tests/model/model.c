/*
 * Models: names, switches of all layers, parameters in and out; what is refused
 * changes nothing. The dimensions that a layer takes.
 */
#include <string.h>

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

    sbn_batchnorm *other = fixture_layer(group, CHANNELS),
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

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *parameters)
{
    (void)context, (void)name, (void)layer, (void)replica, (void)parameters;
    tap_ok(0, "a model that cannot move asks for buffers");
    return SBN_SUCCESS;
}

/* The model's buffers are one for each replica of the group that a layer was in. */
static void check_moved_alone(sbn_group *three, sbn_group *one)
{
    static const char words[] = "layer \"stem\": expected a group of 3 replicas, whose buffers the "
                                "model knows, got one of 1; move it back, then all by "
                                "sbn_model_set_group";
    float weight[CHANNELS] = {0}, bias[CHANNELS] = {0};
    network n;
    network_open(&n, &device, queue, three, REPLICAS);
    must(sbn_batchnorm_set_group(n.layers[0], one), "sbn_batchnorm_set_group");
    REFUSED(sbn_model_set_parameters(n.model, 0, weight, bias), words);
    REFUSED(sbn_model_parameters(n.model, 0, weight, bias), words);
    REFUSED(sbn_model_load(n.model, data_path("network_f16.safetensors"), NULL), words);
    REFUSED(sbn_model_save(n.model, "/nonexistent/file", NULL), words);
    REFUSED(sbn_model_reset_parameters(n.model), words);
    REFUSED(sbn_model_set_group(n.model, three, NULL, NULL), words);
    REFUSED(sbn_model_set_group(n.model, three, replicate, NULL), words);
    tap_ok(sbn_batchnorm_group(n.layers[0]) == one && sbn_batchnorm_group(n.layers[1]) == three,
           "all layers are where they were");
    must(sbn_batchnorm_set_group(n.layers[0], three), "sbn_batchnorm_set_group");
    expect(sbn_model_set_parameters(n.model, 0, weight, bias), SBN_SUCCESS, "", "moved back");
    network_close(&n);
}

/* A pass that fails on its device after it has returned: a load that meets that says so, and loads nothing. */
static void check_late_error(sbn_group *group)
{
    sbn_load_config lenient = SBN_LOAD_CONFIG_INIT;
    const life l = LIVE_WITH(group, .channels = CHANNELS, .affine = OFF);
    sbn_model *model;
    slice s;
    int64_t batches;
    lenient.strict = 0;
    must(sbn_model_create(&model), "sbn_model_create");
    must(sbn_model_add(model, "1", l.layer, NULL), "sbn_model_add");
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    must(sbn_forward(l.layer, &s.shard, l.saved, 0, NULL), "sbn_forward");
    wraps_condemn(1);
    expect(sbn_model_load(model, data_path("network_f32.safetensors"), &lenient),
           CL_OUT_OF_RESOURCES,
           "running statistics of layer \"batchnorm\": a forward pass has failed", "a load");
    wraps_condemn(0);
    must(sbn_batchnorm_running_stats(l.layer, NULL, NULL, &batches), "get");
    tap_ok(batches == 1, "which loads nothing: %d batches", (int)batches);
    expect(sbn_model_load(model, data_path("network_f32.safetensors"), &lenient), SBN_SUCCESS, "",
           "the next load");
    must(sbn_batchnorm_running_stats(l.layer, NULL, NULL, &batches), "get");
    tap_ok(batches == 3, "which does: %d batches", (int)batches);
    slice_close(&s);
    must(sbn_model_destroy(model), "sbn_model_destroy");
    fixture_end(l.layer, l.saved);
}

void checks(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO);
    sbn_group *three = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    check_set(group);
    check_switches(group);
    check_parameters(three);
    check_dimensions(group);
    check_moved_alone(three, group);
    check_late_error(group);
    sbn_group_destroy(group);
    sbn_group_destroy(three);
}
