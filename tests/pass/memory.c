/*
 * Memory of a step through ResNet-50's 53 batch norms (He et al. 2015, arXiv:1512.03385; one image of
 * 224 x 224). What the library takes: synchronising two replicas takes no more than the same layers
 * apart, and either less than a fiftieth of the activations.
 *
 * What is kept from the forward pass until the backward pass: the bytes of all clCreateBuffer that are
 * not released then, the library's own among them, with backward from x and from the output. Leaky
 * ReLU stands in ReLU's place; batch norms before an addition have no activation. The backward pass
 * runs with dx over dy; without x it must give what it gives with it, to the rounding of y.
 *
 * An engine keeps, whatever batch norm needs: its outputs behind an activation, for the weight
 * gradients of the next convolution, and the sums of the additions, for the same.
 */
#include <math.h>
#include <stdlib.h>

#include "support/fixture.h"

enum { LAYERS = 53, REPLICAS = 2, LARGEST = 64 * 112 * 112, MOST_CHANNELS = 2048 };

static fixture device;
static cl_command_queue queue;
static sbn_group *group;
static size_t alive; /* bytes of buffers */

/* The calls of the library, and of this file: the linker is told so. */
cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_int __real_clReleaseMemObject(cl_mem mem);
cl_int __wrap_clReleaseMemObject(cl_mem mem);

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code)
{
    const cl_mem made = __real_clCreateBuffer(context, flags, size, host, code);
    alive += made ? size : 0;
    return made;
}

cl_int __wrap_clReleaseMemObject(cl_mem mem)
{
    size_t size = 0;
    clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL);
    alive -= size;
    return __real_clReleaseMemObject(mem);
}

typedef struct layer {
    size_t channels, side;
    int adds; /* an addition follows, else an activation; 2: its sum is kept by the other branch */
    sbn_batchnorm *norm;
    sbn_saved *saved;
    sbn_shard shard;
    sbn_buffer sum; /* behind the addition */
} layer;

static layer layers[LAYERS];
static float *noise;

static size_t elements_of(const layer *l)
{
    return l->channels * l->side * l->side;
}

static void list_layers(void)
{
    static const size_t blocks[] = {3, 4, 6, 3};
    size_t count = 0;
    layers[count++] = (layer){.channels = 64, .side = 112};
    for (size_t s = 0; s < 4; ++s)
        for (size_t b = 0; b < blocks[s]; ++b) {
            const size_t channels = (size_t)64 << s, side = (size_t)56 >> s;
            /* The 3 x 3 convolution has the stride. */
            layers[count++] = (layer){.channels = channels,
                                      .side = b == 0 && s > 0 ? 2 * side : side};
            layers[count++] = (layer){.channels = channels, .side = side};
            if (b == 0)
                layers[count++] = (layer){.channels = 4 * channels, .side = side, .adds = 2};
            layers[count++] = (layer){.channels = 4 * channels, .side = side, .adds = 1};
        }
    tap_ok(count == LAYERS, "%zu batch norms, expected %d", count, LAYERS);
}

static sbn_buffer make(size_t floats, const float *values)
{
    cl_int code;
    const sbn_buffer made = {clCreateBuffer(device.context, CL_MEM_READ_WRITE,
                                            sizeof(float) * floats, NULL, &code),
                             0};
    must(code, "clCreateBuffer");
    if (values)
        must(clEnqueueWriteBuffer(queue, made.mem, CL_TRUE, 0, sizeof(float) * floats, values, 0,
                                  NULL, NULL),
             "clEnqueueWriteBuffer");
    return made;
}

static void release(sbn_buffer *buffer)
{
    if (buffer->mem)
        must(clReleaseMemObject(buffer->mem), "clReleaseMemObject");
    *buffer = (sbn_buffer)SBN_BUFFER_INIT;
}

static void open_layers(int from_output)
{
    float ones[MOST_CHANNELS], small[MOST_CHANNELS];
    for (size_t c = 0; c < MOST_CHANNELS; ++c) {
        ones[c] = 1.0f + 0.125f * (float)(c % 5);
        small[c] = 0.25f * (float)(c % 3);
    }
    for (size_t i = 0; i < LAYERS; ++i) {
        layer *l = &layers[i];
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        config.channels = l->channels;
        config.activation = l->adds ? SBN_IDENTITY : SBN_LEAKY_RELU;
        config.from_output = from_output;
        must(sbn_batchnorm_create(group, &config, &l->norm), sbn_last_error());
        must(sbn_saved_create(l->norm, &l->saved), sbn_last_error());
        l->shard = (sbn_shard)SBN_SHARD_INIT;
        l->shard.dims = 4;
        l->shard.shape[0] = 1;
        l->shard.shape[1] = l->channels;
        l->shard.shape[2] = l->shard.shape[3] = l->side;
        l->shard.weight = make(l->channels, ones);
        l->shard.bias = make(l->channels, small);
        l->shard.weight_grad = make(l->channels, NULL);
        l->shard.bias_grad = make(l->channels, NULL);
    }
}

/* The forward pass; afterwards the buffers that are alive are those that backward needs. */
static void forward(int from_output)
{
    for (size_t i = 0; i < LAYERS; ++i) {
        layer *l = &layers[i];
        l->shard.x = make(elements_of(l), noise + i);
        l->shard.y = from_output ? l->shard.x : make(elements_of(l), NULL);
        must(sbn_forward(l->norm, &l->shard, l->saved, 0, NULL), sbn_last_error());
        /* The sum of a block with two batch norms before its addition is one. */
        if (l->adds == 1)
            l->sum = make(elements_of(l), NULL);
        must(clFinish(queue), "clFinish");
        if (l->adds && !from_output)
            release(&l->shard.y);
    }
}

/* The norm of all gradients of weights, layer by layer. */
static void backward(int from_output, double *norms)
{
    float gradients[MOST_CHANNELS];
    for (size_t i = LAYERS; i-- > 0;) {
        layer *l = &layers[i];
        l->shard.dy = l->shard.dx = make(elements_of(l), noise + 3 * i + 1);
        if (from_output)
            l->shard.x = (sbn_buffer)SBN_BUFFER_INIT;
        must(sbn_backward(l->norm, &l->shard, l->saved, 0, NULL), sbn_last_error());
        must(clEnqueueReadBuffer(queue, l->shard.weight_grad.mem, CL_TRUE, 0,
                                 sizeof(float) * l->channels, gradients, 0, NULL, NULL),
             "clEnqueueReadBuffer");
        norms[i] = 0;
        for (size_t c = 0; c < l->channels; ++c)
            norms[i] += fabs((double)gradients[c]);
        release(&l->shard.dy);
        release(&l->shard.x);
        if (l->shard.y.mem)
            release(&l->shard.y);
        release(&l->sum);
    }
}

static void close_layers(void)
{
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_buffer *const all[] = {&layers[i].shard.weight, &layers[i].shard.bias,
                                   &layers[i].shard.weight_grad, &layers[i].shard.bias_grad};
        for (size_t k = 0; k < 4; ++k)
            release(all[k]);
        fixture_end(layers[i].norm, layers[i].saved);
    }
}

/* Bytes that are kept for the backward pass. */
static size_t measure(int from_output, double *norms)
{
    open_layers(from_output);
    const size_t before = alive;
    forward(from_output);
    const size_t kept = alive - before;
    backward(from_output, norms);
    close_layers();
    return kept;
}

/* Both replicas' shards lie at the same place, but for what is written. */
static sbn_shard shard_of(const layer *l, const sbn_buffer *values, const sbn_buffer *vectors,
                          size_t replica)
{
    const size_t elements = replica * elements_of(l), channels = replica * l->channels;
    return (sbn_shard){.size = sizeof(sbn_shard),
                       .dims = 4,
                       .shape = {1, l->channels, l->side, l->side},
                       .x = values[0],
                       .y = {values[1].mem, elements},
                       .dy = values[2],
                       .dx = {values[3].mem, elements},
                       .weight = vectors[0],
                       .bias = vectors[1],
                       .weight_grad = {vectors[2].mem, channels},
                       .bias_grad = {vectors[3].mem, channels}};
}

/* The most that the library holds in a step, with the replicas in so many groups. */
static size_t peak(const sbn_buffer *values, const sbn_buffer *vectors, size_t groups)
{
    sbn_group *parts[REPLICAS];
    sbn_batchnorm *norms[REPLICAS][LAYERS];
    sbn_saved *saved[REPLICAS][LAYERS];
    size_t most = 0;
    for (size_t g = 0; g < groups; ++g) {
        parts[g] = fixture_group(queue, REPLICAS / groups, SBN_FORM_AUTO);
        for (size_t i = 0; i < LAYERS; ++i) {
            norms[g][i] = fixture_layer(parts[g], layers[i].channels);
            saved[g][i] = fixture_saved(norms[g][i]);
        }
    }
    for (size_t step = 0; step < 2 * LAYERS; ++step) {
        const size_t i = step < LAYERS ? step : 2 * LAYERS - 1 - step;
        const sbn_shard shards[REPLICAS] = {shard_of(&layers[i], values, vectors, 0),
                                            shard_of(&layers[i], values, vectors, 1)};
        for (size_t g = 0; g < groups; ++g)
            must(step < LAYERS ? sbn_forward(norms[g][i], shards + g, saved[g][i], 0, NULL)
                               : sbn_backward(norms[g][i], shards + g, saved[g][i], 0, NULL),
                 "a pass");
        must(clFinish(queue), "clFinish");
        most = sbn_device_memory() > most ? sbn_device_memory() : most;
    }
    for (size_t g = 0; g < groups; ++g) {
        for (size_t i = 0; i < LAYERS; ++i)
            fixture_end(norms[g][i], saved[g][i]);
        sbn_group_destroy(parts[g]);
    }
    return most;
}

static void check_peak(size_t activations)
{
    sbn_buffer values[4], vectors[4];
    for (int i = 0; i < 4; ++i) {
        values[i] = make(REPLICAS * LARGEST, noise);
        vectors[i] = make(REPLICAS * MOST_CHANNELS, noise);
    }
    const size_t apart = peak(values, vectors, REPLICAS), together = peak(values, vectors, 1);
    tap_ok(together <= apart && together > 0, "%zu bytes synchronised, %zu apart", together, apart);
    tap_ok(apart <= REPLICAS * activations / 50, "beside activations of %zu bytes",
           REPLICAS * activations);
    tap_ok(sbn_device_memory() == 0, "all is released");
    for (int i = 0; i < 4; ++i) {
        release(&values[i]);
        release(&vectors[i]);
    }
}

static void checks(void)
{
    double with[LAYERS], without[LAYERS];
    size_t all = 0, activated = 0, sums = 0;
    list_layers();
    for (size_t i = 0; i < LAYERS; ++i) {
        all += sizeof(float) * elements_of(&layers[i]);
        activated += layers[i].adds ? 0 : sizeof(float) * elements_of(&layers[i]);
        sums += layers[i].adds == 1 ? sizeof(float) * elements_of(&layers[i]) : 0;
    }
    noise = malloc(sizeof *noise * REPLICAS * LARGEST);
    must(noise ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    for (size_t i = 0; i < REPLICAS * LARGEST; ++i)
        noise[i] = batch_x(3, 0, 0, i);
    check_peak(all);
    group = fixture_group(queue, 1, SBN_FORM_AUTO);
    /* The first step makes the working memory, which stays. */
    measure(0, with);
    const size_t from_x = measure(0, with), from_output = measure(1, without);
    const double mega = 1e-6;
    /* Statistics and scratch: less than a fiftieth. */
    tap_ok(from_x >= all + activated + sums && from_x <= 1.02 * (double)(all + activated + sums),
           "from x: %.1f MB an image are kept, %.1f MB of x, %.1f MB of y, %.1f MB of sums",
           mega * (double)from_x, mega * (double)all, mega * (double)activated,
           mega * (double)sums);
    tap_ok(from_output >= all + sums && from_output <= 1.02 * (double)(all + sums),
           "from the output: %.1f MB, %.3f of it", mega * (double)from_output,
           (double)from_output / (double)from_x);
    tap_ok(from_x - from_output == activated, "y over x saves %zu bytes, expected %zu",
           from_x - from_output, activated);
    double worst = 0;
    for (size_t i = 0; i < LAYERS; ++i)
        worst = fmax(worst, fabs(with[i] - without[i]) / with[i]);
    tap_ok(worst < 1e-4, "gradients of weights differ by %.3g at most", worst);
    free(noise);
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
