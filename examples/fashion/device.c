#include "device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

/* kernels.cl, made into an array when the demo is built. */
extern const char fashion_kernels[];
extern const size_t fashion_kernels_length;

static const char *const kernel_names[KERNELS] = {
    "narrow",   "widen",         "gather",       "im2col",   "col2im", "bias_relu",
    "max_pool", "max_pool_grad", "softmax_loss", "sum_rows", "sgd",
};

static void build(struct device *device)
{
    static const char *const options[] =
        {[SBN_F32] = "", [SBN_F16] = "-DELEMENT_F16", [SBN_BF16] = "-DELEMENT_BF16"};
    const char *text = fashion_kernels;
    char log[2000] = "";
    cl_int status;

    device->program = clCreateProgramWithSource(device->context, 1, &text, &fashion_kernels_length,
                                                &status);
    must_cl(status, "making a program");
    status = clBuildProgram(device->program, 1, &device->choice.id, options[device->type], NULL,
                            NULL);
    if (status != CL_SUCCESS) {
        /* A log longer than this leaves it empty; the sentence then does without. */
        clGetProgramBuildInfo(device->program, device->choice.id, CL_PROGRAM_BUILD_LOG,
                              sizeof log - 1, log, NULL);
        fail("%s cannot compile the demo's kernels (%d) %s", device->choice.name, (int)status, log);
    }
    for (int k = 0; k < KERNELS; ++k) {
        device->kernel[k] = clCreateKernel(device->program, kernel_names[k], &status);
        must_cl(status, "making a kernel");
    }
}

static cl_mem room(struct device *device, size_t bytes)
{
    cl_int status;
    cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &status);

    must_cl(status, "making a buffer");
    return memory;
}

static cl_mem copy(struct device *device, const void *from, size_t bytes)
{
    cl_mem memory = room(device, bytes);

    must_cl(clEnqueueWriteBuffer(device->queue, memory, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
            "copying the data set to the device");
    return memory;
}

/* Tensors hold `most` images going forward and the training part going back. */
static void make_tensors(struct device *device, const struct network *network, size_t most)
{
    cl_mem in = device->input, d_in = NULL;
    size_t widest = 0, largest = 0;

    for (int b = 0; b < BLOCKS; ++b) {
        const struct block *block = &network->block[b];
        struct tensors *t = &device->block[b];
        const size_t columns = block->rows * block->depth * sizeof(float);
        const size_t values = block_values(block) * (b < NORMS ? device->element : sizeof(float));
        const size_t products = most * block_values(block) * sizeof(float);
        const size_t outputs = block_outputs(block) * sizeof(float);

        t->columns = block->convolution ? room(device, most * columns) : in;
        t->linear = room(device, most * values);
        /* The loss writes the last block's gradient in evaluation too. */
        t->d_linear = room(device, (b < NORMS ? device->shard_images : most) * values);
        if (b < NORMS) {
            t->normed = room(device, most * values);
            t->out = room(device, most * outputs);
            t->d_normed = room(device, device->shard_images * values);
            t->d_out = room(device, device->shard_images * outputs);
        }
        /* The first block's input needs no gradient. */
        if (block->convolution && d_in && device->shard_images * columns > widest)
            widest = device->shard_images * columns;
        if (b < NORMS && device->type != SBN_F32 && products > largest)
            largest = products;
        in = t->out;
        d_in = t->d_out;
    }
    device->d_columns = room(device, widest);
    device->products = largest ? room(device, largest) : NULL;
}

void device_open(struct device *device, const struct choice *choice, sbn_type type, size_t replicas,
                 size_t batch, const struct network *network, const struct dataset sets[2])
{
    const size_t shard_images = replicas * batch;
    const size_t most = shard_images > EVALUATION_IMAGES ? shard_images : EVALUATION_IMAGES;
    cl_int status;

    *device = (struct device){.choice = *choice,
                              .type = type,
                              .element = type == SBN_F32 ? sizeof(cl_float) : sizeof(cl_ushort),
                              .replicas = replicas,
                              .shard_images = shard_images};
    device->context = clCreateContext(NULL, 1, &choice->id, NULL, NULL, &status);
    must_cl(status, "making a context");
    device->queue = clCreateCommandQueue(device->context, choice->id, 0, &status);
    must_cl(status, "making a command queue");
    device->replica_queue = must_alloc(replicas, sizeof *device->replica_queue);
    for (size_t r = 0; r < replicas; ++r) {
        device->replica_queue[r] = clCreateCommandQueue(device->context, choice->id, 0, &status);
        must_cl(status, "making a replica's command queue");
    }
    build(device);

    for (int s = 0; s < 2; ++s) {
        device->pixels[s] = copy(device, sets[s].images, sets[s].count * PIXELS);
        device->labels[s] = copy(device, sets[s].labels, sets[s].count);
    }
    device->index = room(device, most * sizeof(cl_uint));
    device->input = room(device, most * PIXELS * sizeof(float));
    device->result = room(device, most * 2 * sizeof(float));
    make_tensors(device, network, most);
    device->parameters = room(device, network->parameters * sizeof(float));
    device->gradients = room(device, network->parameters * sizeof(float));
    device->velocity = room(device, network->parameters * sizeof(float));
    device->folded = room(device, network->parameters * sizeof(float));
    device->norm_gradients = room(device, replicas * (network->parameters - network->norms) *
                                              sizeof(float));
}

static void release(cl_mem memory)
{
    if (memory)
        must_cl(clReleaseMemObject(memory), "releasing a buffer");
}

void device_close(struct device *device)
{
    cl_mem before = device->input;

    for (int b = 0; b < BLOCKS; ++b) {
        struct tensors *t = &device->block[b];

        if (t->columns != before)
            release(t->columns);
        before = t->out;
    }
    for (int b = 0; b < BLOCKS; ++b) {
        struct tensors *t = &device->block[b];

        release(t->linear);
        release(t->normed);
        release(t->out);
        release(t->d_linear);
        release(t->d_normed);
        release(t->d_out);
    }
    for (int s = 0; s < 2; ++s) {
        release(device->pixels[s]);
        release(device->labels[s]);
    }
    release(device->index);
    release(device->input);
    release(device->result);
    release(device->d_columns);
    release(device->products);
    release(device->parameters);
    release(device->gradients);
    release(device->velocity);
    release(device->folded);
    release(device->norm_gradients);
    for (int k = 0; k < KERNELS; ++k)
        must_cl(clReleaseKernel(device->kernel[k]), "releasing a kernel");
    must_cl(clReleaseProgram(device->program), "releasing a program");
    for (size_t r = 0; r < device->replicas; ++r)
        must_cl(clReleaseCommandQueue(device->replica_queue[r]), "releasing a queue");
    free(device->replica_queue);
    must_cl(clReleaseCommandQueue(device->queue), "releasing a queue");
    must_cl(clReleaseContext(device->context), "releasing a context");
}

void device_run(struct device *device, enum kernel_name name, size_t x, size_t y, size_t z,
                const char *types, ...)
{
    const size_t global[3] = {x, y, z};
    cl_kernel kernel = device->kernel[name];
    va_list arguments;

    va_start(arguments, types);
    for (cl_uint i = 0; types[i]; ++i) {
        cl_int status;

        if (types[i] == 'm') {
            cl_mem value = va_arg(arguments, cl_mem);

            status = clSetKernelArg(kernel, i, sizeof value, &value);
        } else if (types[i] == 'i') {
            cl_int value = va_arg(arguments, int);

            status = clSetKernelArg(kernel, i, sizeof value, &value);
        } else {
            cl_float value = (cl_float)va_arg(arguments, double);

            status = clSetKernelArg(kernel, i, sizeof value, &value);
        }
        must_cl(status, "setting a kernel's argument");
    }
    va_end(arguments);
    must_cl(clEnqueueNDRangeKernel(device->queue, kernel, 3, NULL, global, NULL, 0, NULL, NULL),
            "running a kernel");
}

cl_mem device_linear(const struct device *device, int b)
{
    return device->products && b < NORMS ? device->products : device->block[b].linear;
}

cl_mem device_d_linear(const struct device *device, int b)
{
    return device->products && b < NORMS ? device->products : device->block[b].d_linear;
}

void device_read_elements(struct device *device, cl_mem from, size_t count, void *to)
{
    must_cl(clEnqueueReadBuffer(device->queue, from, CL_TRUE, 0, count * device->element, to, 0,
                                NULL, NULL),
            "reading from a device");
}

void device_write(struct device *device, cl_mem to, size_t count, const float *from)
{
    must_cl(clEnqueueWriteBuffer(device->queue, to, CL_TRUE, 0, count * sizeof *from, from, 0, NULL,
                                 NULL),
            "writing to a device");
}

void device_read(struct device *device, cl_mem from, size_t offset, size_t count, float *to)
{
    must_cl(clEnqueueReadBuffer(device->queue, from, CL_TRUE, offset * sizeof *to,
                                count * sizeof *to, to, 0, NULL, NULL),
            "reading from a device");
}
