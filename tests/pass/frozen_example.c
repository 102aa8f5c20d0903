#include <stdlib.h>
#include <string.h>

#include "pass/frozen.h"

fixture frozen_device;
cl_command_queue frozen_queue;

sbn_group *make_group(const sbn_transport *transport)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *made;
    config.queues = &frozen_queue;
    config.replicas = 1;
    config.transport = transport;
    must(sbn_group_create(&config, &made), "sbn_group_create");
    return made;
}

static sbn_buffer load(const example *e, const char *name, size_t count)
{
    float *values = vectors_get(&e->file, e->name, name, NULL);
    const sbn_buffer made = buffer_of(&frozen_device, frozen_queue, values, count);
    free(values);
    return made;
}

void example_open(example *e, const char *name, sbn_group *group)
{
    memset(e, 0, sizeof *e);
    e->name = name;
    vectors_open(&e->file, "frozen.safetensors");
    e->s.queue = frozen_queue;
    e->s.shard = (sbn_shard){
        .size = sizeof(sbn_shard),
        .dims = 3,
        .shape = {SAMPLES, CHANNELS, PLANE},
        .x = load(e, "x", ELEMENTS),
        .dy = load(e, "dy", ELEMENTS),
        .weight = load(e, "weight", CHANNELS),
        .bias = load(e, "bias", CHANNELS),
        .y = buffer_of(&frozen_device, frozen_queue, NULL, ELEMENTS),
        .dx = buffer_of(&frozen_device, frozen_queue, NULL, ELEMENTS),
        .weight_grad = buffer_of(&frozen_device, frozen_queue, NULL, CHANNELS),
        .bias_grad = buffer_of(&frozen_device, frozen_queue, NULL, CHANNELS),
    };
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = CHANNELS;
    config.eps = 1e-3;
    config.name = name;
    config.affine = strcmp(name, "affine") == 0;
    must(sbn_batchnorm_create(group, &config, &e->layer), "sbn_batchnorm_create");
    must(sbn_saved_create(e->layer, &e->saved), "sbn_saved_create");
    float *mean = vectors_get(&e->file, name, "running_mean", NULL);
    float *var = vectors_get(&e->file, name, "running_var", NULL);
    must(sbn_batchnorm_set_running_stats(e->layer, mean, var, NULL), "set");
    free(mean);
    free(var);
    must(sbn_batchnorm_set_frozen(e->layer, 1), "sbn_batchnorm_set_frozen");
}

void example_close(example *e)
{
    sbn_saved_destroy(e->saved);
    sbn_batchnorm_destroy(e->layer);
    slice_close(&e->s);
    sbn__tensor_file_close(&e->file);
}

void expect_tensor(const example *e, const sbn_buffer *buffer, const char *name, double units)
{
    size_t count;
    float *expected = vectors_get(&e->file, e->name, name, &count);
    expect_floats(&e->s, buffer, expected, count, units, name);
    free(expected);
}
