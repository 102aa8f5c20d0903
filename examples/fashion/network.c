#include "network.h"

#include <math.h>

#include "dataset.h"
#include "random.h"

static const struct block blocks[BLOCKS] = {
    {.name = "conv1", .convolution = 1, .pool = 2, .out = 16},
    {.name = "conv2", .convolution = 1, .pool = 2, .out = 32},
    {.name = "dense", .convolution = 0, .pool = 1, .out = 64},
    {.name = "classes", .convolution = 0, .pool = 1, .out = CLASSES},
};

size_t block_values(const struct block *block)
{
    return block->rows * block->out;
}

size_t block_outputs(const struct block *block)
{
    return block_values(block) / (size_t)(block->pool * block->pool);
}

struct network network_make(void)
{
    struct network network = {.norms = 0};
    size_t height = SIDE, width = SIDE, channels = 1, at = 0;

    for (int b = 0; b < BLOCKS; ++b) {
        struct block *block = &network.block[b];

        *block = blocks[b];
        block->height = height;
        block->width = width;
        block->in = channels;
        block->rows = block->convolution ? height * width : 1;
        block->depth = block->convolution ? 9 * channels : height * width * channels;
        block->weights = at;
        at += block->depth * block->out;
        height = block->convolution ? height / (size_t)block->pool : 1;
        width = block->convolution ? width / (size_t)block->pool : 1;
        channels = block->out;
    }
    network.norms = at;
    for (int b = 0; b < NORMS; ++b) {
        network.block[b].gamma = at;
        network.block[b].beta = at + network.block[b].out;
        at += 2 * network.block[b].out;
    }
    network.parameters = at;
    return network;
}

void network_start(const struct network *network, uint64_t seed, float *parameters)
{
    uint64_t state = seed;

    for (int b = 0; b < BLOCKS; ++b) {
        const struct block *block = &network->block[b];
        const float bound = sqrtf(6.0f / (float)block->depth);

        for (size_t i = 0; i < block->depth * block->out; ++i)
            parameters[block->weights + i] = bound * random_float(&state);
    }
    for (int b = 0; b < NORMS; ++b) {
        const struct block *block = &network->block[b];

        for (size_t i = 0; i < block->out; ++i) {
            parameters[block->gamma + i] = 1.0f;
            parameters[block->beta + i] = 0.0f;
        }
    }
}
