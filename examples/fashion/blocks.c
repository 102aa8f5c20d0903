#include "blocks.h"

#include "check.h"
#include "gemm.h"

void blocks_load(struct device *device, enum which_set set, const unsigned *index, size_t images)
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

static void forward_linear(struct device *device, const struct network *network, int b,
                           cl_mem parameters)
{
    const struct block *block = &network->block[b];
    cl_mem in = b ? device->block[b - 1].out : device->input;

    if (!device->images)
        return;
    if (block->convolution)
        device_run(device, IM2COL, block->in, block->height * block->width, device->images, "miiim",
                   in, (int)block->height, (int)block->width, (int)block->in,
                   device->block[b].columns);
    gemm_forward(device, network, b, parameters);
}

/* The GEMM's floats as batch norm reads them. */
static void forward_narrow(struct device *device, const struct block *block, int b)
{
    if (device->products && device->images)
        device_run(device, NARROW, device->images * block_values(block), 1, 1, "mm",
                   device_linear(device, b), device->block[b].linear);
}

/* What is left of a batch norm that was folded, and of its ReLU. */
static void forward_bias_relu(struct device *device, const struct block *block, int b)
{
    const struct tensors *t = &device->block[b];

    if (device->images)
        device_run(device, BIAS_RELU, block->out, block->rows * device->images, 1, "mmim",
                   device_linear(device, b), device->folded, (int)block->beta, t->normed);
}

static void forward_pool(struct device *device, const struct block *block, int b)
{
    const size_t pool = (size_t)block->pool;
    const struct tensors *t = &device->block[b];

    if (!device->images)
        return;
    /* What a dense block leaves is one row of one pixel. */
    if (block->convolution)
        device_run(device, MAX_POOL, block->out, block->width / pool,
                   device->images * (block->height / pool), "miim", t->normed, (int)block->width,
                   block->pool, t->out);
    else
        device_run(device, MAX_POOL, block->out, 1, device->images, "miim", t->normed, 1, 1,
                   t->out);
}

static void backward_pool(struct device *device, const struct block *block, int b)
{
    const size_t pool = (size_t)block->pool;
    const struct tensors *t = &device->block[b];

    if (block->convolution)
        device_run(device, MAX_POOL_GRAD, block->out, block->width / pool,
                   device->images * (block->height / pool), "mmmiim", t->normed, t->out, t->d_out,
                   (int)block->width, block->pool, t->d_normed);
    else
        device_run(device, MAX_POOL_GRAD, block->out, 1, device->images, "mmmiim", t->normed,
                   t->out, t->d_out, 1, 1, t->d_normed);
}

static void backward_linear(struct device *device, const struct network *network, int b)
{
    const struct block *block = &network->block[b];

    if (device->products && b < NORMS)
        device_run(device, WIDEN, device->images * block_values(block), 1, 1, "mm",
                   device->block[b].d_linear, device_d_linear(device, b));
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

void blocks_forward(struct model *model, struct norm *norm)
{
    for (int b = 0; b < BLOCKS; ++b) {
        for (size_t d = 0; d < model->devices; ++d) {
            struct device *device = &model->device[d];

            forward_linear(device, &model->network, b, norm ? device->parameters : device->folded);
        }
        if (b >= NORMS)
            break;
        for (size_t d = 0; d < model->devices && norm; ++d)
            forward_narrow(&model->device[d], &model->network.block[b], b);
        if (norm)
            norm_forward(norm, b);
        for (size_t d = 0; d < model->devices; ++d) {
            struct device *device = &model->device[d];

            if (!norm)
                forward_bias_relu(device, &model->network.block[b], b);
            forward_pool(device, &model->network.block[b], b);
        }
    }
}

void blocks_backward(struct model *model, struct norm *norm)
{
    for (int b = BLOCKS; b-- > 0;) {
        if (b < NORMS) {
            for (size_t d = 0; d < model->devices; ++d)
                backward_pool(&model->device[d], &model->network.block[b], b);
            norm_backward(norm, b);
        }
        for (size_t d = 0; d < model->devices; ++d)
            backward_linear(&model->device[d], &model->network, b);
    }
}
