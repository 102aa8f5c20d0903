#include "support/network.h"

#include <string.h>

const char *const network_names[LAYERS] = {"stem", "block.0.norm", "plain"};

sbn_parameters network_parameters(const network *n, size_t channels, float weight, float bias)
{
    float values[2][MOST];
    for (size_t c = 0; c < channels; ++c) {
        values[0][c] = weight + (float)c;
        values[1][c] = bias - (float)c;
    }
    return (sbn_parameters){sizeof(sbn_parameters),
                            buffer_of(n->device, n->queue, values[0], channels),
                            buffer_of(n->device, n->queue, values[1], channels)};
}

void network_open(network *n, const fixture *device, cl_command_queue queue, sbn_group *group,
                  size_t replicas)
{
    static const network_layer usual[LAYERS] = {{"stem", CHANNELS, 0, 0},
                                                {"block.0.norm", CHANNELS, 0, 0},
                                                {"plain", CHANNELS, 1, 1}};
    network_open_of(n, device, queue, group, replicas, usual);
}

void network_open_of(network *n, const fixture *device, cl_command_queue queue, sbn_group *group,
                     size_t replicas, const network_layer of[LAYERS])
{
    memset(n, 0, sizeof *n);
    n->device = device;
    n->queue = queue;
    must(sbn_model_create(&n->model), "sbn_model_create");
    for (size_t i = 0; i < LAYERS; ++i) {
        const network_layer *l = &of[i];
        n->layers[i] = LAYER_WITH(group, .name = l->name, .channels = l->channels, .momentum = 0.25,
                                  .affine = l->bare ? OFF : 1,
                                  .track_running_stats = l->untracked ? OFF : 1);
        for (size_t r = 0; r < replicas && !l->bare; ++r)
            n->parameters[i][r] = network_parameters(n, l->channels, 1.5f + (float)i, 0.5f);
        must(sbn_model_add(n->model, l->name, n->layers[i], l->bare ? NULL : n->parameters[i]),
             "sbn_model_add");
    }
}

void network_close(network *n)
{
    clFinish(n->queue);
    sbn_model_destroy(n->model);
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_destroy(n->layers[i]);
        for (size_t r = 0; r < REPLICAS && n->parameters[i][r].weight.mem; ++r) {
            clReleaseMemObject(n->parameters[i][r].weight.mem);
            clReleaseMemObject(n->parameters[i][r].bias.mem);
        }
    }
}

int network_holds(const network *n, size_t layer, size_t replica, float weight, float bias)
{
    const slice s = {.queue = n->queue};
    float got[2][CHANNELS];
    buffer_read(&s, &n->parameters[layer][replica].weight, CHANNELS, got[0]);
    buffer_read(&s, &n->parameters[layer][replica].bias, CHANNELS, got[1]);
    int same = 1;
    for (size_t c = 0; c < CHANNELS; ++c)
        same = same && got[0][c] == weight && got[1][c] == bias;
    return same;
}

uint64_t network_digest(const network *n)
{
    const slice s = {.queue = n->queue};
    uint64_t digest = SBN_DIGEST_START;
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        must(sbn_batchnorm_settings(n->layers[i], &config), "sbn_batchnorm_settings");
        for (size_t r = 0; r < REPLICAS && n->parameters[i][r].weight.mem; ++r) {
            digest = digest_buffer(digest, &s, &n->parameters[i][r].weight, config.channels);
            digest = digest_buffer(digest, &s, &n->parameters[i][r].bias, config.channels);
        }
        digest = digest_layer(digest, n->layers[i], NULL);
    }
    return digest;
}

int network_flags(const network *n)
{
    int bits = 0;
    for (size_t i = 0; i < LAYERS; ++i)
        bits |= sbn_batchnorm_is_training(n->layers[i]) << i | sbn_batchnorm_is_frozen(n->layers[i])
                                                                   << (i + LAYERS);
    return bits;
}
