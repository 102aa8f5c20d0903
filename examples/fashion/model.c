#include "model.h"

#include <stdlib.h>

#include "check.h"
#include "gemm.h"
#include "ranks.h"

static const double momentum = 0.9;

void model_open(struct model *model, const struct choice *choices, size_t count, size_t first,
                size_t replicas, size_t in_all, size_t batch, const struct dataset sets[2])
{
    *model = (struct model){.network = network_make(),
                            .replicas = replicas,
                            .batch = batch,
                            .first = first,
                            .in_all = in_all};
    model->devices = count < replicas ? count : replicas;
    model->device = must_alloc(model->devices, sizeof *model->device);
    for (size_t d = 0; d < model->devices; d++) {
        const size_t begin = d * replicas / model->devices;
        const size_t end = (d + 1) * replicas / model->devices;

        device_open(&model->device[d], &choices[d], end - begin, batch, &model->network, sets);
    }
}

void model_close(struct model *model)
{
    for (size_t d = 0; d < model->devices; d++)
        device_close(&model->device[d]);
    free(model->device);
}

void model_start(struct model *model, uint64_t seed)
{
    const size_t count = model->network.parameters;
    float *start = must_alloc(count, sizeof *start);
    float *zero = must_alloc(count, sizeof *zero);

    network_start(&model->network, seed, start);
    for (size_t d = 0; d < model->devices; d++) {
        device_write(&model->device[d], model->device[d].parameters, count, start);
        device_write(&model->device[d], model->device[d].velocity, count, zero);
    }
    free(start);
    free(zero);
}

/* Puts the images a device is to work on into its input. */
static void load(struct device *device, enum which_set set, const unsigned *index, size_t images)
{
    /* Mean and one over the standard deviation of the training set's pixels. */
    const double mean = 72.94, scale = 1 / 90.02;

    device->images = images;
    if (!images)
        return;
    must_cl(clEnqueueWriteBuffer(device->queue, device->index, CL_TRUE, 0, images * sizeof *index,
                                 index, 0, NULL, NULL),
            "naming the images of a step");
    device_run(device, GATHER, PIXELS, images, 1, "mmffm", device->pixels[set], device->index, mean,
               scale, device->input);
}

static void forward_linear(struct device *device, const struct network *network, int b)
{
    const struct block *block = &network->block[b];
    cl_mem in = b ? device->block[b - 1].out : device->input;

    if (!device->images)
        return;
    if (block->convolution)
        device_run(device, IM2COL, block->in, block->height * block->width, device->images, "miiim",
                   in, (int)block->height, (int)block->width, (int)block->in,
                   device->block[b].columns);
    gemm_forward(device, network, b);
}

static void forward_relu_pool(struct device *device, const struct block *block, int b)
{
    const size_t pool = (size_t)block->pool;
    const struct tensors *t = &device->block[b];

    if (!device->images)
        return;
    /* What a dense block leaves is one row of one pixel. */
    if (block->convolution)
        device_run(device, RELU_POOL, block->out, block->width / pool,
                   device->images * (block->height / pool), "miim", t->normed, (int)block->width,
                   block->pool, t->out);
    else
        device_run(device, RELU_POOL, block->out, 1, device->images, "miim", t->normed, 1, 1,
                   t->out);
}

static void backward_relu_pool(struct device *device, const struct block *block, int b)
{
    const size_t pool = (size_t)block->pool;
    const struct tensors *t = &device->block[b];

    if (block->convolution)
        device_run(device, RELU_POOL_GRAD, block->out, block->width / pool,
                   device->images * (block->height / pool), "mmmiim", t->normed, t->out, t->d_out,
                   (int)block->width, block->pool, t->d_normed);
    else
        device_run(device, RELU_POOL_GRAD, block->out, 1, device->images, "mmmiim", t->normed,
                   t->out, t->d_out, 1, 1, t->d_normed);
}

static void backward_linear(struct device *device, const struct network *network, int b)
{
    const struct block *block = &network->block[b];

    gemm_weights(device, network, b);
    if (b == 0)
        return;
    if (block->convolution) {
        gemm_columns(device, network, b, device->d_columns);
        device_run(device, COL2IM, block->in, block->height * block->width, device->images, "miiim",
                   device->d_columns, (int)block->height, (int)block->width, (int)block->in,
                   device->block[b - 1].d_out);
    } else {
        gemm_columns(device, network, b, device->block[b - 1].d_out);
    }
}

/* Forward on all devices at once, block by block: batch norm is where they meet. */
static void forward(struct model *model, struct norm *norm)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (size_t d = 0; d < model->devices; d++)
            forward_linear(&model->device[d], &model->network, b);
        if (b >= NORMS)
            break;
        norm_forward(norm, b);
        for (size_t d = 0; d < model->devices; d++)
            forward_relu_pool(&model->device[d], &model->network.block[b], b);
    }
}

static void backward(struct model *model, struct norm *norm)
{
    for (int b = BLOCKS; b-- > 0;) {
        if (b < NORMS) {
            for (size_t d = 0; d < model->devices; d++)
                backward_relu_pool(&model->device[d], &model->network.block[b], b);
            norm_backward(norm, b);
        }
        for (size_t d = 0; d < model->devices; d++)
            backward_linear(&model->device[d], &model->network, b);
    }
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
    for (size_t i = 0; i < device->images; i++) {
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
    for (size_t d = 0; d < model->devices; d++) {
        load(&model->device[d], TRAIN, index, model->device[d].share);
        index += model->device[d].share;
    }
    forward(model, norm);
    for (size_t d = 0; d < model->devices; d++)
        loss(&model->device[d], TRAIN, model->in_all * model->batch);
    backward(model, norm);
    for (size_t d = 0; d < model->devices; d++) {
        struct device *device = &model->device[d];

        device_run(device, SUM_ROWS, affine, 1, 1, "miim", device->norm_gradients,
                   (int)device->replicas, (int)norms, device->gradients);
    }
    for (size_t d = 0; d < model->devices; d++)
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
    for (size_t d = 0; d < model->devices; d++) {
        device_read(&model->device[d], model->device[d].gradients, 0, count, one);
        for (size_t i = 0; i < count; i++)
            sum[i] += one[i];
    }
    if (model->in_all > model->replicas)
        ranks_add_floats(sum, count);
    for (size_t d = 0; d < model->devices; d++)
        device_write(&model->device[d], model->device[d].gradients, count, sum);
    free(sum);
    free(one);
}

struct score model_step(struct model *model, struct norm *norm, const unsigned *index, double rate)
{
    struct score score = model_gradients(model, norm, index);

    average_gradients(model);
    for (size_t d = 0; d < model->devices; d++) {
        struct device *device = &model->device[d];

        device_run(device, SGD, model->network.parameters, 1, 1, "mffmm", device->gradients, rate,
                   momentum, device->velocity, device->parameters);
    }
    return score;
}

struct score model_evaluate(struct model *model, struct norm *evaluation, size_t count)
{
    struct score score = {0, 0};
    unsigned index[EVALUATION_IMAGES];
    const int alone = model->in_all == model->replicas;
    size_t next = alone ? 0 : ranks_begin_of(count, ranks_own());
    const size_t end = alone ? count : ranks_begin_of(count, ranks_own() + 1);

    while (next < end) {
        for (size_t d = 0; d < model->devices; d++) {
            const size_t left = end - next;
            const size_t images = left < EVALUATION_IMAGES ? left : EVALUATION_IMAGES;

            for (size_t i = 0; i < images; i++)
                index[i] = (unsigned)(next + i);
            load(&model->device[d], TEST, index, images);
            next += images;
        }
        forward(model, evaluation);
        for (size_t d = 0; d < model->devices; d++)
            loss(&model->device[d], TEST, 1);
        for (size_t d = 0; d < model->devices; d++)
            add_score(&model->device[d], &score);
    }
    if (!alone)
        ranks_add(&score.loss, 2);
    return score;
}
