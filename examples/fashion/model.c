#include "model.h"

#include <stdlib.h>

#include "check.h"
#include "ranks.h"

static const double momentum = 0.9;

void model_open(struct model *model, const struct choice *choices, size_t count, sbn_type type,
                size_t first, size_t replicas, size_t in_all, size_t batch,
                const struct dataset sets[2])
{
    *model = (struct model){.network = network_make(),
                            .replicas = replicas,
                            .batch = batch,
                            .first = first,
                            .in_all = in_all};
    model->devices = count < replicas ? count : replicas;
    model->device = must_alloc(model->devices, sizeof *model->device);
    for (size_t d = 0; d < model->devices; ++d) {
        const size_t begin = d * replicas / model->devices;
        const size_t end = (d + 1) * replicas / model->devices;

        device_open(&model->device[d], &choices[d], type, end - begin, batch, &model->network,
                    sets);
    }
}

void model_close(struct model *model)
{
    for (size_t d = 0; d < model->devices; ++d)
        device_close(&model->device[d]);
    free(model->device);
}

void model_start(struct model *model, uint64_t seed)
{
    const size_t count = model->network.parameters;
    float *start = must_alloc(count, sizeof *start);
    float *zero = must_alloc(count, sizeof *zero);

    network_start(&model->network, seed, start);
    for (size_t d = 0; d < model->devices; ++d) {
        device_write(&model->device[d], model->device[d].parameters, count, start);
        device_write(&model->device[d], model->device[d].velocity, count, zero);
    }
    free(start);
    free(zero);
}

static void loss(struct device *device, enum which_set set, size_t images_in_all)
{
    const struct tensors *t = &device->block[BLOCKS - 1];

    if (device->images)
        device_run(device, SOFTMAX_LOSS, device->images, 1, 1, "mmmifmm", t->linear,
                   device->labels[set], device->index, CLASSES, 1.0 / (double)images_in_all,
                   t->d_linear, device->result);
}

static void add_score(struct device *device, struct score *score)
{
    float *result = must_alloc(2 * device->images, sizeof *result);

    if (device->images)
        device_read(device, device->result, 0, 2 * device->images, result);
    for (size_t i = 0; i < device->images; ++i) {
        score->loss += result[2 * i];
        score->right += result[2 * i + 1];
    }
    free(result);
}

struct score model_gradients(struct model *model, struct norm *norm, const unsigned *index)
{
    const size_t norms = model->network.norms, affine = model->network.parameters - norms;
    struct score score = {0, 0};

    index += model->first * model->batch;
    for (size_t d = 0; d < model->devices; ++d) {
        blocks_load(&model->device[d], TRAIN, index, model->device[d].shard_images);
        index += model->device[d].shard_images;
    }
    blocks_forward(model, norm);
    for (size_t d = 0; d < model->devices; ++d)
        loss(&model->device[d], TRAIN, model->in_all * model->batch);
    blocks_backward(model, norm);
    for (size_t d = 0; d < model->devices; ++d) {
        struct device *device = &model->device[d];

        device_run(device, SUM_ROWS, affine, 1, 1, "miim", device->norm_gradients,
                   (int)device->replicas, (int)norms, device->gradients);
    }
    for (size_t d = 0; d < model->devices; ++d)
        add_score(&model->device[d], &score);
    if (model->in_all > model->replicas)
        ranks_add(&score.loss, 2);
    return score;
}

/*
 * Each loss was divided by the images of all replicas, so the sum over devices
 * and ranks is the mean over replicas. Added on the host, in the order of the
 * devices, and given back to each: as the step itself rounds alike everywhere,
 * their parameters stay the same to the last bit.
 */
static void average_gradients(struct model *model)
{
    const size_t count = model->network.parameters;
    float *sum, *one;

    if (model->devices == 1 && model->in_all == model->replicas)
        return;
    sum = must_alloc(count, sizeof *sum);
    one = must_alloc(count, sizeof *one);
    for (size_t d = 0; d < model->devices; ++d) {
        device_read(&model->device[d], model->device[d].gradients, 0, count, one);
        for (size_t i = 0; i < count; ++i)
            sum[i] += one[i];
    }
    if (model->in_all > model->replicas)
        ranks_add_floats(sum, count);
    for (size_t d = 0; d < model->devices; ++d)
        device_write(&model->device[d], model->device[d].gradients, count, sum);
    free(sum);
    free(one);
}

struct score model_step(struct model *model, struct norm *norm, const unsigned *index, double rate)
{
    struct score score = model_gradients(model, norm, index);

    average_gradients(model);
    for (size_t d = 0; d < model->devices; ++d) {
        struct device *device = &model->device[d];

        device_run(device, SGD, model->network.parameters, 1, 1, "mffmm", device->gradients, rate,
                   momentum, device->velocity, device->parameters);
    }
    return score;
}

struct score model_evaluate(struct model *model, struct norm *evaluation, size_t count,
                            float *logits, struct progress *progress)
{
    struct score score = {0, 0};
    unsigned index[EVALUATION_IMAGES];
    const int alone = model->in_all == model->replicas;
    const size_t begin = alone ? 0 : ranks_begin_of(count, ranks_own());
    const size_t end = alone ? count : ranks_begin_of(count, ranks_own() + 1);
    size_t next = begin;

    while (next < end) {
        size_t at = next * CLASSES;

        for (size_t d = 0; d < model->devices; ++d) {
            const size_t left = end - next;
            const size_t images = left < EVALUATION_IMAGES ? left : EVALUATION_IMAGES;

            for (size_t i = 0; i < images; ++i)
                index[i] = (unsigned)(next + i);
            blocks_load(&model->device[d], TEST, index, images);
            next += images;
        }
        blocks_forward(model, evaluation);
        for (size_t d = 0; d < model->devices; ++d)
            loss(&model->device[d], TEST, 1);
        for (size_t d = 0; d < model->devices; ++d) {
            struct device *device = &model->device[d];
            const size_t values = device->images * CLASSES;

            add_score(device, &score);
            if (logits && values)
                device_read(device, device->block[BLOCKS - 1].linear, 0, values, logits + at);
            at += values;
        }
        if (progress)
            progress_images(progress, next - begin, end - begin);
    }
    if (!alone)
        ranks_add(&score.loss, 2);
    return score;
}
