/*
 * What is refused when layers and saved statistics are made or asked. Each
 * refusal names the argument, what was expected and what was got, and changes
 * nothing.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/fixture.h"

#define REFUSED_LAYER(field, value, words) \
    do { \
        sbn_batchnorm_config config = good; \
        config.field = value; \
        layer = (sbn_batchnorm *)group; \
        expect(sbn_batchnorm_create(group, &config, &layer), SBN_INVALID_ARGUMENT, words, \
               "layer: " #field " = " #value); \
        tap_ok(layer == NULL, "layer: " #field " = " #value ": the handle is NULL"); \
    } while (0)

static fixture device;
static cl_command_queue queue;

static void check_layers(sbn_group *group, sbn_batchnorm *other)
{
    sbn_batchnorm_config good = SBN_BATCHNORM_CONFIG_INIT;
    good.channels = 3;
    sbn_batchnorm *layer = other;
    expect(sbn_batchnorm_create(group, &good, NULL), SBN_INVALID_ARGUMENT, "layer|got NULL",
           "layer: no place");
    expect(sbn_batchnorm_create(NULL, &good, &layer), SBN_INVALID_ARGUMENT, "group|got NULL",
           "layer: no group");
    expect(sbn_batchnorm_create((sbn_group *)other, &good, &layer), SBN_INVALID_ARGUMENT,
           "group|got another", "layer: a layer as the group");
    expect(sbn_batchnorm_create(group, NULL, &layer), SBN_INVALID_ARGUMENT, "config|got NULL",
           "layer: no config");
    REFUSED_LAYER(size, 8, "config: size|got 8|SBN_BATCHNORM_CONFIG_INIT");
    REFUSED_LAYER(channels, 0, "channels|1 to|got 0");
    REFUSED_LAYER(channels, (size_t)1 << 31, "channels|got 2147483648");
    REFUSED_LAYER(layout, (sbn_layout)2, "layout|got 2");
    REFUSED_LAYER(eps, -1e-9, "eps|finite|got -1e-09");
    REFUSED_LAYER(eps, INFINITY, "eps|got inf");
    REFUSED_LAYER(eps, NAN, "eps|got nan");
    REFUSED_LAYER(eps_mode, (sbn_eps_mode)2, "eps_mode|got 2");
    REFUSED_LAYER(momentum, 1.0001, "momentum|0 to 1|got 1.0001");
    REFUSED_LAYER(momentum, -0.1, "momentum|got -0.1");
    REFUSED_LAYER(momentum, NAN, "momentum|got nan");
    REFUSED_LAYER(average, (sbn_average)2, "average|got 2");
    REFUSED_LAYER(affine, 2, "affine|0 or 1|got 2");
    REFUSED_LAYER(track_running_stats, -1, "track_running_stats|0 or 1|got -1");
    REFUSED_LAYER(dimensions, 4, "dimensions|0 to 3|got 4");
    REFUSED_LAYER(dimensions, -1, "dimensions|got -1");
    REFUSED_LAYER(type, (sbn_type)3, "type|sbn_type|got 3");
    REFUSED_LAYER(type, (sbn_type)-1, "type|sbn_type|got -1");
    REFUSED_LAYER(activation, (sbn_activation)3, "activation|sbn_activation|got 3");
    REFUSED_LAYER(activation, (sbn_activation)-1, "activation|sbn_activation|got -1");
    REFUSED_LAYER(slope, 1e39, "slope|finite as a float|got 1e+39");
    REFUSED_LAYER(slope, NAN, "slope|got nan");
    REFUSED_LAYER(residual, 2, "residual|0 or 1|got 2");
    REFUSED_LAYER(from_output, -1, "from_output|0 or 1|got -1");
    good = (sbn_batchnorm_config){.size = sizeof good, .channels = 3};
    REFUSED_LAYER(average, SBN_AVERAGE_MOMENTUM, "all 0|start from SBN_BATCHNORM_CONFIG_INIT");
    good.eps = 1e-5;
    expect(sbn_batchnorm_create(group, &good, &layer), SBN_SUCCESS, "", "layer: only eps is not 0");
    must(sbn_batchnorm_destroy(layer), "sbn_batchnorm_destroy");
}

static void check_statistics(sbn_group *group, sbn_batchnorm *layer)
{
    const float mean[3] = {1, 2, 3}, var[3] = {4, 5, 6};
    const int64_t batches = 7, negative = -1;
    float got[6];
    int64_t got_batches;
    must(sbn_batchnorm_set_running_stats(layer, mean, var, &batches), "set");
    expect(sbn_batchnorm_set_running_stats(layer, var, mean, &negative), SBN_INVALID_ARGUMENT,
           "num_batches_tracked|got -1", "a negative count");
    expect(sbn_batchnorm_set_running_stats((sbn_batchnorm *)group, var, mean, NULL),
           SBN_INVALID_ARGUMENT, "layer|got another", "set: a group as the layer");
    expect(sbn_batchnorm_reset_running_stats(NULL), SBN_INVALID_ARGUMENT, "layer|got NULL",
           "reset");
    must(sbn_batchnorm_running_stats(layer, got, got + 3, &got_batches), "get");
    tap_ok(!memcmp(got, mean, sizeof mean) && !memcmp(got + 3, var, sizeof var) && got_batches == 7,
           "refused calls leave the running statistics");
    must(sbn_batchnorm_set_running_stats(layer, NULL, mean, NULL), "set");
    must(sbn_batchnorm_running_stats(layer, got, got + 3, &got_batches), "get");
    tap_ok(!memcmp(got, mean, sizeof mean) && !memcmp(got + 3, mean, sizeof var) &&
               got_batches == 7,
           "NULL leaves a part as it is");
    must(sbn_batchnorm_reset_running_stats(layer), "reset");
    must(sbn_batchnorm_running_stats(layer, got, got + 3, &got_batches), "get");
    tap_ok(got[2] == 0.0f && got[5] == 1.0f && got_batches == 0, "reset: 0, 1, no batches");
    expect(sbn_batchnorm_running_stats(layer, NULL, NULL, NULL), SBN_SUCCESS, "", "get nothing");

    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = 3;
    config.track_running_stats = 0;
    config.name = "untracked";
    sbn_batchnorm *untracked;
    must(sbn_batchnorm_create(group, &config, &untracked), "sbn_batchnorm_create");
    expect(sbn_batchnorm_running_stats(untracked, got, NULL, NULL), SBN_INVALID_ARGUMENT,
           "untracked|no running statistics", "get from an untracked layer");
    sbn_batchnorm_destroy(untracked);
}

static void check_saved(sbn_group *group, sbn_batchnorm *layer)
{
    sbn_saved *saved = (sbn_saved *)layer;
    float mean[3];
    expect(sbn_saved_create(layer, NULL), SBN_INVALID_ARGUMENT, "saved|got NULL",
           "saved: no place");
    expect(sbn_saved_create((sbn_batchnorm *)group, &saved), SBN_INVALID_ARGUMENT,
           "layer|got another", "saved: a group as the layer");
    tap_ok(saved == NULL, "saved: the handle is NULL");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    expect(sbn_saved_stats(saved, mean, NULL, NULL), SBN_INVALID_ARGUMENT, "saved|no forward",
           "get from saved statistics that nothing has filled");
    expect(sbn_saved_stats(NULL, mean, NULL, NULL), SBN_INVALID_ARGUMENT, "saved|got NULL",
           "get: NULL");
    expect(sbn_pass_end((sbn_pass *)saved, NULL), SBN_INVALID_ARGUMENT, "pass|got another",
           "end: saved statistics as the pass");
    expect(sbn_pass_end(NULL, NULL), SBN_INVALID_ARGUMENT, "pass|got NULL", "end: NULL");
    expect(sbn_pass_progress(NULL, NULL), SBN_INVALID_ARGUMENT, "pass|got NULL", "progress: NULL");
    expect(sbn_device_check(NULL), SBN_INVALID_ARGUMENT, "device|got NULL", "device check: NULL");
    sbn_saved_destroy(saved);
}

static void checks(void)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    sbn_group *group;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    of_layer.channels = 3;
    sbn_batchnorm *layer;
    must(sbn_batchnorm_create(group, &of_layer, &layer), "sbn_batchnorm_create");
    check_layers(group, layer);
    check_statistics(group, layer);
    check_saved(group, layer);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    sbn_batchnorm_destroy(NULL);
    sbn_saved_destroy(NULL);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
