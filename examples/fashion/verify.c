#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ranks.h"

/* What one layer of the whole batch came to. */
enum { MEAN, VAR, RUNNING, Y, DX, GRADIENTS, DIGESTS };
static const char *const digest_names[DIGESTS] = {"mean", "var", "running",
                                                  "y",    "dx",  "dgamma,dbeta"};

/* A layer's input and the gradient of its output, of all images, on the host. */
struct captured {
    const struct block *block;
    size_t images, values; /* values per image */
    sbn_type type;
    size_t element; /* bytes of a value */
    char *x, *dy, *y, *dx;
    float *affine; /* gamma, then beta */
};

/* FNV-1a (Fowler, Noll & Vo), 64 bits. */
static uint64_t digest(uint64_t hash, const void *values, size_t bytes)
{
    const unsigned char *byte = values;

    for (size_t i = 0; i < bytes; ++i)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}
static const uint64_t nothing = 0xcbf29ce484222325u;

static size_t bytes_of(const struct captured *c)
{
    return c->images * c->values * c->element;
}

/* A tensor's bytes in floats, as ranks send them, the last one filled up. */
static size_t floats_of(const struct captured *c)
{
    return (bytes_of(c) + sizeof(float) - 1) / sizeof(float);
}

static struct captured capture(const struct model *model, int b)
{
    struct captured c = {.block = &model->network.block[b],
                         .images = model->replicas * model->batch,
                         .values = block_values(&model->network.block[b]),
                         .type = model->device[0].type,
                         .element = model->device[0].element};
    size_t at = 0;

    c.x = must_alloc(floats_of(&c), sizeof(float));
    c.dy = must_alloc(floats_of(&c), sizeof(float));
    c.y = must_alloc(floats_of(&c), sizeof(float));
    c.dx = must_alloc(floats_of(&c), sizeof(float));
    c.affine = must_alloc(2 * c.block->out, sizeof *c.affine);
    device_read(&model->device[0], model->device[0].parameters, c.block->gamma, 2 * c.block->out,
                c.affine);
    for (size_t d = 0; d < model->devices; ++d) {
        struct device *device = &model->device[d];
        const size_t count = device->shard_images * c.values;

        device_read_elements(device, device->block[b].linear, count, c.x + at);
        device_read_elements(device, device->block[b].d_normed, count, c.dy + at);
        at += count * c.element;
    }
    /* Rank 0 has trained: its batch is everybody's. */
    ranks_broadcast((float *)c.x, floats_of(&c));
    ranks_broadcast((float *)c.dy, floats_of(&c));
    ranks_broadcast(c.affine, 2 * c.block->out);
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

static cl_mem place(struct device *device, size_t bytes, const void *from)
{
    /* An empty shard still has buffers, since OpenCL makes none of no bytes. */
    const size_t size = bytes ? bytes : 1;
    cl_int status;
    cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &status);

    must_cl(status, "making a buffer to verify with");
    if (from && bytes)
        must_cl(clEnqueueWriteBuffer(device->queue, memory, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
                "writing to a device");
    return memory;
}

/* The shard of the batch that replica `way` of `ways` takes; their sizes differ by one at most. */
static size_t shard_begin(size_t images, size_t way, size_t ways)
{
    return images * way / ways;
}

/* A split over some of the ranks, and those of its ways that are this rank's. */
struct split {
    size_t ranks, ways, begin, end;
};

static struct split split_over(size_t ranks, size_t ways)
{
    const size_t own = ranks_own();

    return (struct split){ranks, ways, own < ranks ? ways * own / ranks : ways,
                          own < ranks ? ways * (own + 1) / ranks : ways};
}

static struct device *device_of(const struct model *model, const struct split *split, size_t way)
{
    return &model->device[(way - split->begin) * model->devices / (split->end - split->begin)];
}

/* shards[0] is that of way split->begin. */
static void fill(const struct model *model, const struct captured *c, const struct split *split,
                 sbn_shard *shards)
{
    const struct block *block = c->block;
    const size_t ways = split->ways;

    for (size_t w = split->begin; w < split->end; ++w) {
        struct device *device = device_of(model, split, w);
        const size_t first = shard_begin(c->images, w, ways);
        const size_t images = shard_begin(c->images, w + 1, ways) - first;
        const size_t bytes = images * c->values * c->element;
        const size_t at = first * c->values * c->element;
        const size_t vector = block->out * sizeof(float);

        *shards++ = (sbn_shard){.size = sizeof(sbn_shard),
                                .dims = block->convolution ? 4 : 2,
                                .shape = {images, block->out, block->height, block->width},
                                .x = {place(device, bytes, c->x + at), 0},
                                .y = {place(device, bytes, NULL), 0},
                                .dy = {place(device, bytes, c->dy + at), 0},
                                .dx = {place(device, bytes, NULL), 0},
                                .weight = {place(device, vector, c->affine), 0},
                                .bias = {place(device, vector, c->affine + block->out), 0},
                                .weight_grad = {place(device, vector, NULL), 0},
                                .bias_grad = {place(device, vector, NULL), 0}};
    }
}

static void read_back(const struct model *model, struct captured *c, const struct split *split,
                      const sbn_shard *shard, float *gradients)
{
    const size_t ways = split->ways;

    gradients += split->begin * 2 * c->block->out;
    for (size_t w = split->begin; w < split->end; ++w, ++shard) {
        struct device *device = device_of(model, split, w);
        const size_t first = shard_begin(c->images, w, ways) * c->values;
        const size_t count = shard_begin(c->images, w + 1, ways) * c->values - first;
        const cl_mem all[] = {shard->x.mem,           shard->y.mem,        shard->dy.mem,
                              shard->dx.mem,          shard->weight.mem,   shard->bias.mem,
                              shard->weight_grad.mem, shard->bias_grad.mem};

        if (count) {
            device_read_elements(device, shard->y.mem, count, c->y + first * c->element);
            device_read_elements(device, shard->dx.mem, count, c->dx + first * c->element);
        }
        device_read(device, shard->weight_grad.mem, 0, c->block->out, gradients);
        device_read(device, shard->bias_grad.mem, 0, c->block->out, gradients + c->block->out);
        gradients += 2 * c->block->out;
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
            must_cl(clReleaseMemObject(all[i]), "releasing a buffer");
    }
}

/* The queues are the devices' own, in order: what is read back has been computed. */
static void run_here(const struct model *model, struct captured *c, const struct split *split,
                     float *gradients, float *statistics)
{
    const size_t here = split->end - split->begin, channels = c->block->out;
    cl_command_queue *queues = must_alloc(here, sizeof *queues);
    sbn_shard *shards = must_alloc(here, sizeof *shards);
    sbn_group_config group_config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;

    for (size_t w = split->begin; w < split->end; ++w)
        queues[w - split->begin] = device_of(model, split, w)->queue;
    group_config.queues = queues;
    group_config.replicas = here;
    group_config.transport = ranks_transport(split->ranks);
    config.name = c->block->name;
    config.channels = channels;
    config.layout = SBN_LAYOUT_NHWC;
    config.type = c->type;
    config.activation = SBN_RELU;
    must_sbn(sbn_group_create(&group_config, &group), "making a group");
    must_sbn(sbn_batchnorm_create(group, &config, &layer), "making a layer");
    must_sbn(sbn_saved_create(layer, &saved), "making room for a layer's statistics");

    fill(model, c, split, shards);
    must_sbn(sbn_forward(layer, shards, saved, 0, NULL), "going forward");
    must_sbn(sbn_backward(layer, shards, saved, SBN_GLOBAL_GRADIENTS, NULL), "going backward");
    read_back(model, c, split, shards, gradients);
    must_sbn(sbn_saved_stats(saved, statistics, statistics + channels, NULL), "reading statistics");
    must_sbn(sbn_batchnorm_running_stats(layer, statistics + 2 * channels,
                                         statistics + 3 * channels, NULL),
             "reading statistics");

    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    free(queues);
    free(shards);
}

/* The digests of the whole batch, on all ranks. */
static void run_split(const struct model *model, struct captured *c, struct split split,
                      uint64_t digests[DIGESTS])
{
    const size_t channels = c->block->out, vector = channels * sizeof(float), bytes = bytes_of(c);
    float *gradients = must_alloc(split.ways * 2 * channels, sizeof *gradients);
    float *statistics = must_alloc(4 * channels, sizeof *statistics);

    memset(c->y, 0, floats_of(c) * sizeof(float));
    memset(c->dx, 0, floats_of(c) * sizeof(float));
    if (split.begin < split.end)
        run_here(model, c, &split, gradients, statistics);
    /* Where ranks have the same, it stays; where they differ, the digest is spoilt. */
    ranks_join(statistics, 4 * channels);
    ranks_join(gradients, split.ways * 2 * channels);
    ranks_join((float *)c->y, floats_of(c));
    ranks_join((float *)c->dx, floats_of(c));

    digests[MEAN] = digest(nothing, statistics, vector);
    digests[VAR] = digest(nothing, statistics + channels, vector);
    digests[RUNNING] = digest(nothing, statistics + 2 * channels, 2 * vector);
    digests[Y] = digest(nothing, c->y, bytes);
    digests[DX] = digest(nothing, c->dx, bytes);
    /* Every replica holds the global gradients; if one differs the digest is spoilt. */
    digests[GRADIENTS] = digest(nothing, gradients, 2 * vector);
    for (size_t w = 1; w < split.ways; ++w)
        if (memcmp(gradients, gradients + w * 2 * channels, 2 * channels * sizeof *gradients))
            digests[GRADIENTS] = ~digests[GRADIENTS];
    free(gradients);
    free(statistics);
}

static void print_row(const char *name, const char *split, const uint64_t digests[DIGESTS],
                      const uint64_t first[DIGESTS])
{
    printf("%-6s %-6s", name, split);
    for (int i = 0; i < DIGESTS; ++i)
        printf(" %016" PRIx64 "%c", digests[i], digests[i] == first[i] ? ' ' : '!');
    putchar('\n');
}

/* Ranks times replicas of each. Rows of more ranks than there are are left out. */
static const struct {
    size_t ranks, replicas;
} splits[] = {{1, 1}, {1, 2}, {1, 3}, {1, 8}, {2, 4}, {4, 2}, {8, 1}};

/* Returns how many digests are not as they should be. */
static int verify_layer(const struct model *model, int b)
{
    struct captured c = capture(model, b);
    uint64_t first[DIGESTS], digests[DIGESTS];
    int wrong = 0;

    for (size_t i = 0; i < sizeof splits / sizeof *splits; ++i) {
        const size_t ranks = splits[i].ranks, replicas = splits[i].replicas;
        char name[32];

        if (ranks > ranks_in_all())
            break;
        run_split(model, &c, split_over(ranks, ranks * replicas), i ? digests : first);
        snprintf(name, sizeof name, "%zux%zu", ranks, replicas);
        print_row(c.block->name, name, i ? digests : first, first);
        for (int k = 0; i && k < DIGESTS; ++k)
            wrong += digests[k] != first[k];
    }
    /* Digests that nothing could change would prove nothing: half a batch must change them. */
    if (c.images >= 4) {
        c.images /= 2;
        run_split(model, &c, split_over(1, 1), digests);
        print_row(c.block->name, "half", digests, first);
        for (int k = 0; k < DIGESTS; ++k)
            wrong += digests[k] == first[k];
    }
    captured_free(&c);
    return wrong;
}

int verify(struct model *model)
{
    int wrong = 0;

    printf("%zu images of a training step, split over ranks x replicas of each, on %zu device%s;"
           " then half of them alone, as a control\n\n%-6s %-6s",
           model->replicas * model->batch, model->devices, model->devices == 1 ? "" : "s", "layer",
           "split");
    for (int i = 0; i < DIGESTS; ++i)
        printf(" %-17s", digest_names[i]);
    putchar('\n');
    for (int b = 0; b < NORMS; ++b)
        wrong += verify_layer(model, b);
    if (wrong)
        printf("\nverify: FAILED, %d digests are not as they should be\n", wrong);
    else
        puts("\nverify: the same bits however the batch is split");
    return wrong != 0;
}
