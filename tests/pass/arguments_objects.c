/*
 * Calls that are refused because of the objects' state: while a pass is under way, with objects of
 * two groups, without a place for the result, after a layer has moved.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/vectors.h"

enum { CHANNELS = 4, PLANE = 30, SAMPLES = 3, MANY = 40 };

static fixture device;
static cl_command_queue queue;
static slice data;

static sbn_batchnorm *make_layer(sbn_group *group, int tracks)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *made;
    config.channels = CHANNELS;
    config.track_running_stats = tracks;
    must(sbn_batchnorm_create(group, &config, &made), "sbn_batchnorm_create");
    return made;
}

static void check_under_way(sbn_group *group)
{
    const int colour = 0;
    sbn_group *part;
    sbn_data_parallel *parallel;
    sbn_pass *pass;
    sbn_saved *saved;
    sbn_batchnorm *layer = make_layer(group, 1);
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    must(sbn_forward_begin(layer, &data.shard, saved, 0, &pass), "sbn_forward_begin");
    expect(sbn_group_split(group, &colour, &part), SBN_INVALID_ARGUMENT,
           "group: expected no pass of it under way, got 1", "a split while a pass is under way");
    expect(sbn_data_parallel_create(group, NULL, &parallel), SBN_INVALID_ARGUMENT,
           "group: expected no pass of it under way, got 1",
           "an sbn_data_parallel while a pass is under way");
    expect(sbn_pass_end(pass, NULL), SBN_SUCCESS, "", "the pass");
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
}

static void check_two_groups(sbn_group *group, sbn_group *other)
{
    sbn_saved *saved[2];
    sbn_batchnorm *layers[] = {make_layer(group, 1), make_layer(other, 1)};
    sbn_branch branches[2];
    for (size_t i = 0; i < 2; ++i) {
        must(sbn_saved_create(layers[i], &saved[i]), "sbn_saved_create");
        branches[i] = (sbn_branch){sizeof(sbn_branch), layers[i], &data.shard, saved[i], 0};
    }
    expect(sbn_forward_branches(branches, 2, NULL), SBN_INVALID_ARGUMENT,
           "branches[1]: layer: expected one of the first layer's group|of another",
           "branches of two groups");
    for (size_t i = 0; i < 2; ++i) {
        sbn_saved_destroy(saved[i]);
        sbn_batchnorm_destroy(layers[i]);
    }
}

static void check_places(sbn_group *group)
{
    sbn_batchnorm *layer = make_layer(group, 1);
    sbn_checkpoint *checkpoint;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    expect(sbn_batchnorm_settings(layer, NULL), SBN_INVALID_ARGUMENT, "config|NULL", "settings");
    expect(sbn_batchnorm_settings(NULL, &config), SBN_INVALID_ARGUMENT, "layer|NULL", "settings");
    expect(sbn_checkpoint_create(NULL, &checkpoint), SBN_INVALID_ARGUMENT, "path|NULL", "a file");
    expect(sbn_checkpoint_create(data_path("network_f16.safetensors"), NULL), SBN_INVALID_ARGUMENT,
           "checkpoint|NULL", "a file");
    must(sbn_checkpoint_create(data_path("network_f16.safetensors"), &checkpoint), "a file");
    expect(sbn_checkpoint_layer(checkpoint, 0, NULL), SBN_INVALID_ARGUMENT, "layer|NULL",
           "a layer of a file");
    sbn_checkpoint_destroy(checkpoint);
    sbn_batchnorm_destroy(layer);
}

/* In a file they are sorted, numbers by their value. */
static void check_order(sbn_model *model)
{
    const char *temporary = getenv("TMPDIR");
    char path[80];
    sbn_checkpoint *checkpoint;
    sbn_layer_info second = SBN_LAYER_INFO_INIT, last = SBN_LAYER_INFO_INIT;
    snprintf(path, sizeof path, "%.40s/objects-%ld", temporary ? temporary : "/tmp",
             (long)getpid());
    must(sbn_model_save(model, path, NULL), "sbn_model_save");
    must(sbn_checkpoint_create(path, &checkpoint), "sbn_checkpoint_create");
    must(sbn_checkpoint_layer(checkpoint, 2, &second), "sbn_checkpoint_layer");
    must(sbn_checkpoint_layer(checkpoint, MANY - 1, &last), "sbn_checkpoint_layer");
    tap_ok(strcmp(second.name, "block.2.norm") == 0 && strcmp(last.name, "block.39.norm") == 0,
           "layers in order: %s, %s", second.name, last.name);
    must(sbn_checkpoint_destroy(checkpoint), "sbn_checkpoint_destroy");
    unlink(path);
}

/* Names with numbers of one and of more digits, more than a model has room for at first. */
static void check_many_layers(sbn_group *group)
{
    static sbn_batchnorm *layers[MANY];
    const sbn_parameters parameters = {sizeof parameters, data.shard.weight, data.shard.bias};
    float bias[CHANNELS] = {9, 9, 9, 9};
    char name[32];
    sbn_model *model;
    must(sbn_model_create(&model), "sbn_model_create");
    for (int i = 0; i < MANY; ++i) {
        layers[i] = make_layer(group, 1);
        snprintf(name, sizeof name, "block.%d.norm", i);
        must(sbn_model_add(model, name, layers[i], &parameters), "sbn_model_add");
    }
    expect(sbn_model_add(model, "again", layers[7], &parameters), SBN_INVALID_ARGUMENT,
           "\"again\"|\"block.7.norm\"", "a layer of the model, under another name");
    tap_ok(sbn_model_size(model) == MANY && sbn_model_layer(model, MANY - 1) == layers[MANY - 1],
           "a model of %d layers", MANY);
    expect(sbn_model_parameters(model, 3, NULL, bias), SBN_SUCCESS, "", "a bias alone");
    tap_ok(bias[0] == -0.5f && bias[1] == -0.25f, "the bias: %g, %g", (double)bias[0],
           (double)bias[1]);
    check_order(model);
    must(sbn_model_destroy(model), "sbn_model_destroy");
    expect(sbn_model_parameters(model, 3, NULL, bias), SBN_INVALID_ARGUMENT, "model|destroyed",
           "a destroyed model");
    for (int i = 0; i < MANY; ++i)
        sbn_batchnorm_destroy(layers[i]);
}

/* Evaluation by the batch's statistics keeps its own, which follow the layer. */
static void check_moved(sbn_group *group, sbn_group *other)
{
    sbn_batchnorm *layer = make_layer(group, 0);
    must(sbn_evaluate(layer, &data.shard), "sbn_evaluate");
    const uint64_t before = digest_buffer(DIGEST_START, &data, &data.shard.y, data.elements);
    must(sbn_batchnorm_set_group(layer, other), "sbn_batchnorm_set_group");
    slice_reset(&data);
    must(sbn_evaluate(layer, &data.shard), "sbn_evaluate");
    tap_ok(digest_buffer(DIGEST_START, &data, &data.shard.y, data.elements) == before,
           "evaluation by batch statistics, after the layer has moved");
    sbn_batchnorm_destroy(layer);
}

/* A queue that keeps no order, and a folding that waits for an event. */
static void check_waiting(sbn_group *group)
{
    cl_event filled, folded;
    sbn_batchnorm *layer = make_layer(group, 1);
    const float two = 2;
    must(clEnqueueFillBuffer(queue, data.shard.x.mem, &two, sizeof two,
                             sizeof(float) * data.shard.x.offset, sizeof(float) * data.elements, 0,
                             NULL, &filled),
         "clEnqueueFillBuffer");
    const sbn_folding folding = {.size = sizeof folding,
                                 .outer = SAMPLES,
                                 .inner = PLANE,
                                 .weight = data.shard.x,
                                 .norm_weight = data.shard.weight,
                                 .norm_bias = data.shard.bias,
                                 .folded_weight = data.shard.y,
                                 .folded_bias = data.shard.bias_grad,
                                 .num_wait = 1,
                                 .wait_list = &filled,
                                 .event = &folded};
    expect(sbn_batchnorm_fold(layer, &folding), SBN_SUCCESS, "", "folding that waits");
    must(clWaitForEvents(1, &folded), "clWaitForEvents");
    float got[2], weight[2];
    buffer_read(&data, &data.shard.y, 2, got);
    buffer_read(&data, &data.shard.weight, 2, weight);
    tap_ok(got[0] > 1.99f * weight[0] && got[0] < 2 * weight[0] && got[1] == got[0],
           "what was filled is folded: %g from %g", (double)got[0], (double)weight[0]);
    clReleaseEvent(filled);
    clReleaseEvent(folded);
    sbn_batchnorm_destroy(layer);
}

static void checks(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO),
              *other = fixture_group(queue, 1, SBN_FORM_AUTO);
    slice_open(&data, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 2);
    check_under_way(group);
    check_two_groups(group, other);
    check_places(group);
    check_many_layers(group);
    check_moved(group, other);
    check_waiting(group);
    slice_close(&data);
    sbn_group_destroy(group);
    sbn_group_destroy(other);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
