/* Creates and destroys a layer, and tells its settings. */
#include <math.h>
#include <string.h>

#include "base/activation.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/type.h"
#include "layer/running.h"

int sbn_batchnorm_config_init(sbn_batchnorm_config *config, size_t size)
{
    static const sbn_batchnorm_config defaults = SBN_BATCHNORM_CONFIG_INIT;
    return sbn__struct_init(config, size, &defaults, SBN_STRUCT(sbn_batchnorm_config), "config");
}

/*
 * y must give x back. The range of slopes has normal inverses, and below 1 it is such that no half
 * loses more digits than at its usual magnitudes: 2^-14 is the smallest normal one.
 */
static int check_invertible(const sbn_batchnorm_config *config)
{
    const float least = 0x1p-14f, most = 0x1p14f, slope = (float)config->slope;
    if (config->residual)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "from_output: expected 0 with a residual, which y alone does not give "
                         "back, got 1");
    if (config->activation == SBN_RELU)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "from_output: expected 0 with SBN_RELU, which has no inverse, got 1");
    if (config->activation == SBN_LEAKY_RELU && !(slope >= least && slope <= most))
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "slope: expected 2^-14 to 2^14 with from_output, got %g", config->slope);
    return SBN_SUCCESS;
}

/* Copies and checks the caller's struct of any version. */
static int read_config(const sbn_batchnorm_config *given, sbn_batchnorm_config *config)
{
    if (!given)
        return sbn__fail(SBN_INVALID_ARGUMENT, "config: expected a configuration, got NULL");
    const int status = sbn__struct_read(config, given, SBN_STRUCT(sbn_batchnorm_config), "config");
    if (status)
        return status;
    if (config->eps == 0.0 && config->momentum == 0.0 && !config->affine &&
        !config->track_running_stats)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "config: eps, momentum, affine and track_running_stats are all 0, as of a "
                         "struct that was cleared: start from SBN_BATCHNORM_CONFIG_INIT");
    if (config->channels < 1 || config->channels > INT32_MAX)
        return sbn__fail(SBN_INVALID_ARGUMENT, "channels: expected 1 to 2^31 - 1, got %zu",
                         config->channels);
    if (!(config->eps >= 0.0) || isinf(config->eps))
        return sbn__fail(SBN_INVALID_ARGUMENT, "eps: expected a finite number from 0, got %g",
                         config->eps);
    if (!(config->momentum >= 0.0 && config->momentum <= 1.0))
        return sbn__fail(SBN_INVALID_ARGUMENT, "momentum: expected 0 to 1, got %g",
                         config->momentum);
    if (!isfinite((float)config->slope))
        return sbn__fail(SBN_INVALID_ARGUMENT, "slope: expected a number finite as a float, got %g",
                         config->slope);
    const struct {
        const char *name, *expected;
        int value;
        unsigned most;
    } choices[] = {
        {"layout", "an sbn_layout", (int)config->layout, SBN_LAYOUT_NHWC},
        {"eps_mode", "an sbn_eps_mode", (int)config->eps_mode, SBN_EPS_CLAMP},
        {"average", "an sbn_average", (int)config->average, SBN_AVERAGE_CUMULATIVE},
        {"dimensions", "0 to 3", config->dimensions, 3},
        {"type", "an sbn_type", (int)config->type, SBN_TYPES - 1},
        {"activation", "an sbn_activation", (int)config->activation, SBN_ACTIVATIONS - 1},
        {"affine", "0 or 1", config->affine, 1},
        {"track_running_stats", "0 or 1", config->track_running_stats, 1},
        {"residual", "0 or 1", config->residual, 1},
        {"from_output", "0 or 1", config->from_output, 1},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; ++i)
        if ((unsigned)choices[i].value > choices[i].most)
            return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected %s, got %d", choices[i].name,
                             choices[i].expected, choices[i].value);
    return config->from_output ? check_invertible(config) : SBN_SUCCESS;
}

static int allocate(sbn_batchnorm *layer, const char *name)
{
    layer->name = sbn__text_copy(name, strlen(name));
    layer->shapes = sbn__allocate(sizeof *layer->shapes * layer->group->replica_count);
    if (layer->tracks)
        layer->running = sbn__running_create(layer->channels);
    if (!layer->name || !layer->shapes || (layer->tracks && !layer->running))
        return sbn__fail_memory("a layer");
    layer->config.name = layer->name;
    return SBN_SUCCESS;
}

static void free_layer(sbn_batchnorm *layer)
{
    sbn_saved_destroy(layer->batch);
    sbn__channel_table_destroy(&layer->table);
    sbn__running_destroy(layer->running);
    sbn__free(layer->name);
    sbn__free(layer->shapes);
    sbn__object_remove(&layer->object);
    sbn__free(layer);
}

int sbn_batchnorm_create(sbn_group *group, const sbn_batchnorm_config *given, sbn_batchnorm **layer)
{
    sbn_batchnorm_config config;
    if (!layer)
        return sbn__fail(SBN_INVALID_ARGUMENT, "layer: expected a place for the handle, got NULL");
    *layer = NULL;
    int status = sbn__enter(group, SBN_HANDLE_GROUP, "group");
    if (!status)
        status = read_config(given, &config);
    if (status)
        return status;
    sbn_batchnorm *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("a layer");
    sbn__object_add(&made->object, SBN_HANDLE_BATCHNORM);
    made->group = group;
    made->config = config;
    made->channels = config.channels;
    made->eps = (sbn_eps){config.eps, config.eps_mode == SBN_EPS_CLAMP};
    made->affine = config.affine;
    made->tracks = config.track_running_stats;
    made->fusion = sbn__fusion_of(config.activation, config.residual, config.from_output);
    made->training = 1;
    made->settings = sbn__settings_of(&config);
    status = sbn__group_load(group, config.type, made->fusion);
    if (!status)
        status = allocate(made, config.name ? config.name : "batchnorm");
    if (status) {
        free_layer(made);
        return status;
    }
    ++group->layers;
    if (made->tracks)
        sbn_batchnorm_reset_running_stats(made);
    *layer = made;
    return SBN_SUCCESS;
}

int sbn_batchnorm_settings(const sbn_batchnorm *layer, sbn_batchnorm_config *config)
{
    int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status && !config)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "config: expected room for settings, got NULL");
    if (!status)
        status = sbn__struct_check_room(config, 1, SBN_STRUCT(sbn_batchnorm_config), "config");
    if (!status)
        sbn__struct_put(config, 0, &layer->config, sizeof layer->config);
    return status;
}

int sbn_batchnorm_destroy(sbn_batchnorm *layer)
{
    int status = layer ? sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer") : SBN_SUCCESS;
    if (!layer || status)
        return status;
    status = sbn__check_idle(layer, "destroying it");
    if (status)
        return status;
    const size_t saved = layer->saved - (layer->batch != NULL);
    if (saved > 0 || layer->models > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer \"%s\": expected %s of it, got %zu; destroy them before the layer",
                         layer->name, saved ? "no saved statistics" : "no models",
                         saved ? saved : layer->models);
    --layer->group->layers;
    free_layer(layer);
    return SBN_SUCCESS;
}
