/*
 * One device and what lies on it: a copy of the data and of the parameters,
 * and the tensors of all its replicas.
 *
 * Replicas of one device hold the same parameters, so what does not couple
 * images (convolution, pooling, loss) runs as one call over the images
 * of all of them, one replica after the other in each tensor. Only batch norm
 * is told where each replica's shard begins. Each replica has a command queue
 * of its own for it; `queue` runs the rest.
 */
#pragma once

#include <syncbn.h>

#include "choose.h"
#include "dataset.h"
#include "network.h"

enum kernel_name {
    NARROW,
    WIDEN,
    GATHER,
    IM2COL,
    COL2IM,
    BIAS_RELU,
    MAX_POOL,
    MAX_POOL_GRAD,
    SOFTMAX_LOSS,
    SUM_ROWS,
    SGD,
    KERNELS
};

/*
 * A block's values; d_ marks the gradient of the loss with respect to them. What batch norm reads
 * and writes is stored in the device's type, all else in floats.
 */
struct tensors {
    cl_mem columns; /* what the GEMM reads; for a dense block the input as it is */
    cl_mem linear;  /* what it writes, before batch norm */
    cl_mem normed;  /* after batch norm and ReLU, one pass */
    cl_mem out;     /* after pooling, floats */
    cl_mem d_linear, d_normed, d_out;
};

struct device {
    struct choice choice;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[KERNELS];
    sbn_type type;
    size_t element; /* its bytes */

    size_t replicas;
    cl_command_queue *replica_queue;
    size_t shard_images; /* images of all its replicas in a training step */
    size_t images;       /* of the pass under way: `shard_images`, or a part of the test images */

    cl_mem pixels[2], labels[2]; /* of the training set and of the test set */
    cl_mem index;                /* which of them the pass takes */
    cl_mem input;                /* those, as floats */
    struct tensors block[BLOCKS];
    cl_mem d_columns; /* of the block under way */
    cl_mem products;  /* floats that a GEMM writes or reads where `linear` has another type */
    cl_mem result;    /* loss and right or wrong, per image */

    cl_mem parameters, gradients, velocity;
    cl_mem folded;         /* for inference, laid out as `parameters`: fold.h */
    cl_mem norm_gradients; /* of the affine parameters: one row per replica */
};

/* The largest number of images a device evaluates at once. */
enum { EVALUATION_IMAGES = 250 };

void device_open(struct device *device, const struct choice *choice, sbn_type type, size_t replicas,
                 size_t batch, const struct network *network, const struct dataset sets[2]);
void device_close(struct device *device);

/*
 * Enqueues a kernel over x * y * z items. `types` has a letter for each
 * argument that follows: m a cl_mem, i an int, f a float (given as double).
 */
void device_run(struct device *device, enum kernel_name kernel, size_t x, size_t y, size_t z,
                const char *types, ...);

/* The floats that block b's GEMM writes, and those of its gradient. */
cl_mem device_linear(const struct device *device, int b);
cl_mem device_d_linear(const struct device *device, int b);

/* Blocking copies of floats. */
void device_write(struct device *device, cl_mem to, size_t count, const float *from);
void device_read(struct device *device, cl_mem from, size_t offset, size_t count, float *to);

/* A blocking copy of elements of the device's type. */
void device_read_elements(struct device *device, cl_mem from, size_t count, void *to);
