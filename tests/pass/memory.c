/*
 * The peak of device memory, of one training step through the batch norms of ResNet-50 (He et al.
 * 2015, arXiv:1512.03385) with one image of 224 x 224 per replica: synchronising takes no more than
 * the same layers apart, and either takes less than a fiftieth of the layers' activations.
 */
#include "support/fixture.h"

enum { REPLICAS = 2, LAYERS = 53, LARGEST = 64 * 112 * 112 };

static fixture device;
static cl_command_queue queue;
static sbn_buffer values[4], parameters[4]; /* x, y, dy, dx; weight, bias and gradients */

typedef struct layer {
    size_t channels, side;
} layer;

/* Per stage: how many blocks, and of the 3 x 3 convolution channels and side. */
static const struct {
    size_t blocks, channels, side;
} stages[] = {{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}};

static size_t list_layers(layer layers[LAYERS])
{
    size_t count = 0;
    layers[count++] = (layer){64, 112};
    for (size_t s = 0; s < 4; ++s)
        for (size_t b = 0; b < stages[s].blocks; ++b) {
            const size_t channels = stages[s].channels, side = stages[s].side;
            /* The 3 x 3 convolution has the stride. */
            layers[count++] = (layer){channels, b == 0 && s > 0 ? 2 * side : side};
            layers[count++] = (layer){channels, side};
            layers[count++] = (layer){4 * channels, side};
            if (b == 0)
                layers[count++] = (layer){4 * channels, side};
        }
    return count;
}

/* One group's layers, of which each keeps what its backward pass needs. */
typedef struct network {
    sbn_group *group;
    sbn_batchnorm *layers[LAYERS];
    sbn_saved *saved[LAYERS];
} network;

static void network_open(network *n, const layer *layers, size_t count, size_t replicas)
{
    n->group = fixture_group(queue, replicas, SBN_FORM_AUTO);
    for (size_t i = 0; i < count; ++i) {
        sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
        settings.channels = layers[i].channels;
        must(sbn_batchnorm_create(n->group, &settings, &n->layers[i]), "sbn_batchnorm_create");
        must(sbn_saved_create(n->layers[i], &n->saved[i]), "sbn_saved_create");
    }
}

static void network_close(network *n, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        sbn_saved_destroy(n->saved[i]);
        sbn_batchnorm_destroy(n->layers[i]);
    }
    sbn_group_destroy(n->group);
}

/* Both replicas' shards lie at the same place, but for what is written. */
static void take_shard(const layer *l, size_t replica, sbn_shard *shard)
{
    const size_t elements = l->channels * l->side * l->side;
    *shard = (sbn_shard){.size = sizeof(sbn_shard),
                         .dims = 4,
                         .shape = {1, l->channels, l->side, l->side}};
    shard->x = values[0];
    shard->y = (sbn_buffer){values[1].mem, replica * elements};
    shard->dy = values[2];
    shard->dx = (sbn_buffer){values[3].mem, replica * elements};
    shard->weight = parameters[0];
    shard->bias = parameters[1];
    shard->weight_grad = (sbn_buffer){parameters[2].mem, replica * l->channels};
    shard->bias_grad = (sbn_buffer){parameters[3].mem, replica * l->channels};
}

/* The most that the library holds in a step, with the replicas in so many groups. */
static size_t peak(const layer *layers, size_t count, size_t groups)
{
    network networks[REPLICAS];
    size_t most = 0;
    for (size_t g = 0; g < groups; ++g)
        network_open(&networks[g], layers, count, REPLICAS / groups);
    for (size_t step = 0; step < 2 * count; ++step) {
        const size_t i = step < count ? step : 2 * count - 1 - step;
        sbn_shard shards[REPLICAS];
        for (size_t r = 0; r < REPLICAS; ++r)
            take_shard(&layers[i], r, &shards[r]);
        for (size_t g = 0; g < groups; ++g) {
            network *n = &networks[g];
            must(step < count ? sbn_forward(n->layers[i], shards + g, n->saved[i], 0, NULL)
                              : sbn_backward(n->layers[i], shards + g, n->saved[i], 0, NULL),
                 "a pass");
        }
        must(clFinish(queue), "clFinish");
        most = sbn_device_memory() > most ? sbn_device_memory() : most;
    }
    for (size_t g = 0; g < groups; ++g)
        network_close(&networks[g], count);
    return most;
}

int main(void)
{
    layer layers[LAYERS];
    size_t activations = 0;
    if (fixture_open(&device))
        return fixture_missing();
    queue = fixture_queue(&device, 0);
    const slice s = {.queue = queue};
    for (int i = 0; i < 4; ++i) {
        cl_int code;
        const size_t bytes = sizeof(float) * REPLICAS * LARGEST;
        values[i].mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE, bytes, NULL, &code);
        must(code, "clCreateBuffer");
        buffer_fill(&s, &values[i], REPLICAS * LARGEST, 0.5f);
        parameters[i].mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE,
                                           sizeof(float) * REPLICAS * 2048, NULL, &code);
        must(code, "clCreateBuffer");
        buffer_fill(&s, &parameters[i], REPLICAS * 2048, 1.0f);
    }
    const size_t count = list_layers(layers);
    for (size_t i = 0; i < count; ++i)
        activations += sizeof(float) * REPLICAS * layers[i].channels * layers[i].side *
                       layers[i].side;
    tap_ok(count == LAYERS, "%d layers", (int)count);
    const size_t apart = peak(layers, count, REPLICAS), together = peak(layers, count, 1);
    tap_ok(together <= apart && together > 0, "%zu bytes synchronised, %zu apart", together, apart);
    tap_ok(apart <= activations / 50, "beside activations of %zu bytes", activations);
    tap_ok(sbn_device_memory() == 0, "all is released");
    for (int i = 0; i < 4; ++i) {
        clReleaseMemObject(values[i].mem);
        clReleaseMemObject(parameters[i].mem);
    }
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
