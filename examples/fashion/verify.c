#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* What one layer of the whole batch came to. */
enum { MEAN, VAR, RUNNING, Y, DX, GRADIENTS, DIGESTS };
static const char *const digest_names[DIGESTS] = {"mean", "var", "running",
                                                  "y",    "dx",  "dgamma,dbeta"};

/* A layer's input and the gradient of its output, of all images, on the host. */
struct captured {
    const struct block *block;
    size_t images, values; /* values per image */
    float *x, *dy, *y, *dx;
    float *affine; /* gamma, then beta */
};

/* FNV-1a (Fowler, Noll & Vo), 64 bits, over the bits of floats. */
static uint64_t digest(uint64_t hash, const float *values, size_t count)
{
    const unsigned char *byte = (const unsigned char *)values;

    for (size_t i = 0; i < count * sizeof *values; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}
static const uint64_t nothing = 0xcbf29ce484222325u;

static struct captured capture(const struct model *model, int b)
{
    struct captured c = {.block = &model->network.block[b],
                         .images = model->replicas * model->batch,
                         .values = block_values(&model->network.block[b])};
    size_t at = 0;

    c.x = must_alloc(c.images * c.values, sizeof *c.x);
    c.dy = must_alloc(c.images * c.values, sizeof *c.dy);
    c.y = must_alloc(c.images * c.values, sizeof *c.y);
    c.dx = must_alloc(c.images * c.values, sizeof *c.dx);
    c.affine = must_alloc(2 * c.block->out, sizeof *c.affine);
    device_read(&model->device[0], model->device[0].parameters, c.block->gamma, 2 * c.block->out,
                c.affine);
    for (size_t d = 0; d < model->devices; d++) {
        struct device *device = &model->device[d];
        const size_t count = device->share * c.values;

        device_read(device, device->block[b].linear, 0, count, c.x + at);
        device_read(device, device->block[b].d_normed, 0, count, c.dy + at);
        at += count;
    }
    return c;
}

static void captured_free(struct captured *c)
{
    free(c->x);
    free(c->dy);
    free(c->y);
    free(c->dx);
    free(c->affine);
}

static cl_mem place(struct device *device, size_t count, const float *from)
{
    /* An empty share still has buffers, since OpenCL makes none of no bytes. */
    const size_t bytes = (count ? count : 1) * sizeof *from;
    cl_int status;
    cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &status);

    must_cl(status, "making a buffer to verify with");
    if (from && count)
        device_write(device, memory, count, from);
    return memory;
}

/* The part of the batch that replica `way` of `ways` takes; their sizes differ by one at most. */
static size_t part_begin(size_t images, size_t way, size_t ways)
{
    return images * way / ways;
}

static struct device *device_of(const struct model *model, size_t way, size_t ways)
{
    return &model->device[way * model->devices / ways];
}

static void fill(const struct model *model, const struct captured *c, size_t ways,
                 sbn_share *shares)
{
    const struct block *block = c->block;

    for (size_t w = 0; w < ways; w++) {
        struct device *device = device_of(model, w, ways);
        const size_t first = part_begin(c->images, w, ways);
        const size_t images = part_begin(c->images, w + 1, ways) - first;
        const size_t count = images * c->values;

        shares[w] = (sbn_share){.dims = block->convolution ? 4 : 2,
                                .shape = {images, block->out, block->height, block->width},
                                .x = {place(device, count, c->x + first * c->values), 0},
                                .y = {place(device, count, NULL), 0},
                                .dy = {place(device, count, c->dy + first * c->values), 0},
                                .dx = {place(device, count, NULL), 0},
                                .weight = {place(device, block->out, c->affine), 0},
                                .bias = {place(device, block->out, c->affine + block->out), 0},
                                .weight_grad = {place(device, block->out, NULL), 0},
                                .bias_grad = {place(device, block->out, NULL), 0}};
    }
}

static void read_back(const struct model *model, struct captured *c, size_t ways, sbn_share *shares,
                      float *gradients)
{
    for (size_t w = 0; w < ways; w++) {
        struct device *device = device_of(model, w, ways);
        const size_t first = part_begin(c->images, w, ways) * c->values;
        const size_t count = part_begin(c->images, w + 1, ways) * c->values - first;
        const cl_mem all[] = {shares[w].x.mem,           shares[w].y.mem,        shares[w].dy.mem,
                              shares[w].dx.mem,          shares[w].weight.mem,   shares[w].bias.mem,
                              shares[w].weight_grad.mem, shares[w].bias_grad.mem};

        if (count) {
            device_read(device, shares[w].y.mem, 0, count, c->y + first);
            device_read(device, shares[w].dx.mem, 0, count, c->dx + first);
        }
        device_read(device, shares[w].weight_grad.mem, 0, c->block->out, gradients);
        device_read(device, shares[w].bias_grad.mem, 0, c->block->out, gradients + c->block->out);
        gradients += 2 * c->block->out;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            must_cl(clReleaseMemObject(all[i]), "releasing a buffer");
    }
}

/* The queues are the devices' own, in order: what is read back has been computed. */
static void run_split(const struct model *model, struct captured *c, size_t ways,
                      uint64_t digests[DIGESTS])
{
    const size_t channels = c->block->out;
    cl_command_queue *queues = must_alloc(ways, sizeof *queues);
    sbn_share *shares = must_alloc(ways, sizeof *shares);
    float *gradients = must_alloc(ways * 2 * channels, sizeof *gradients);
    float *mean = must_alloc(channels, sizeof *mean), *var = must_alloc(channels, sizeof *var);
    sbn_group_config group_config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;

    for (size_t w = 0; w < ways; w++)
        queues[w] = device_of(model, w, ways)->queue;
    group_config.queues = queues;
    group_config.replicas = ways;
    config.name = c->block->name;
    config.channels = channels;
    config.layout = SBN_CHANNELS_LAST;
    must_sbn(sbn_group_create(&group_config, &group), "making a group");
    must_sbn(sbn_batchnorm_create(group, &config, &layer), "making a layer");
    must_sbn(sbn_saved_create(layer, &saved), "making room for a layer's statistics");

    fill(model, c, ways, shares);
    must_sbn(sbn_forward(layer, shares, saved, 0, NULL), "going forward");
    must_sbn(sbn_backward(layer, shares, saved, SBN_GLOBAL_GRADIENTS, NULL), "going backward");
    read_back(model, c, ways, shares, gradients);

    must_sbn(sbn_saved_get(saved, mean, var, NULL), "reading statistics");
    digests[MEAN] = digest(nothing, mean, channels);
    digests[VAR] = digest(nothing, var, channels);
    must_sbn(sbn_batchnorm_get_running_stats(layer, mean, var, NULL), "reading statistics");
    digests[RUNNING] = digest(digest(nothing, mean, channels), var, channels);
    digests[Y] = digest(nothing, c->y, c->images * c->values);
    digests[DX] = digest(nothing, c->dx, c->images * c->values);
    /* Every replica holds the global gradients; if one differs the digest is spoilt. */
    digests[GRADIENTS] = digest(nothing, gradients, 2 * channels);
    for (size_t w = 1; w < ways; w++)
        if (memcmp(gradients, gradients + w * 2 * channels, 2 * channels * sizeof *gradients))
            digests[GRADIENTS] = ~digests[GRADIENTS];

    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    free(queues);
    free(shares);
    free(gradients);
    free(mean);
    free(var);
}

static void print_row(const char *name, const char *split, const uint64_t digests[DIGESTS],
                      const uint64_t first[DIGESTS])
{
    printf("%-6s %-6s", name, split);
    for (int i = 0; i < DIGESTS; i++)
        printf(" %016" PRIx64 "%c", digests[i], digests[i] == first[i] ? ' ' : '!');
    putchar('\n');
}

/* Returns how many digests are not as they should be. */
static int verify_layer(const struct model *model, int b)
{
    static const size_t ways[] = {1, 2, 3, 8};
    struct captured c = capture(model, b);
    uint64_t first[DIGESTS], digests[DIGESTS];
    int wrong = 0;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char split[32];

        run_split(model, &c, ways[i], i ? digests : first);
        snprintf(split, sizeof split, "%zu", ways[i]);
        print_row(c.block->name, split, i ? digests : first, first);
        for (int k = 0; i && k < DIGESTS; k++)
            wrong += digests[k] != first[k];
    }
    /* Digests that nothing could change would prove nothing: half a batch must change them. */
    if (c.images >= 4) {
        c.images /= 2;
        run_split(model, &c, 1, digests);
        print_row(c.block->name, "half", digests, first);
        for (int k = 0; k < DIGESTS; k++)
            wrong += digests[k] == first[k];
    }
    captured_free(&c);
    return wrong;
}

int verify(struct model *model)
{
    int wrong = 0;

    printf("%zu images of a training step, split 1, 2, 3 and 8 ways over %zu device%s;"
           " then half of them alone, as a control\n\n%-6s %-6s",
           model->replicas * model->batch, model->devices, model->devices == 1 ? "" : "s", "layer",
           "split");
    for (int i = 0; i < DIGESTS; i++)
        printf(" %-17s", digest_names[i]);
    putchar('\n');
    for (int b = 0; b < NORMS; b++)
        wrong += verify_layer(model, b);
    if (wrong)
        printf("\nverify: FAILED, %d digests are not as they should be\n", wrong);
    else
        puts("\nverify: the same bits however the batch is split");
    return wrong != 0;
}
