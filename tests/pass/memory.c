/*
 * What the library takes in a step through ResNet-50's 53 batch norms (He et al. 2015, arXiv:1512.03385; images of
 * 224 x 224): synchronising two replicas takes no more than the same layers apart, and either less than a fiftieth of
 * the activations; so do layers that go backward from the output, with y over x and dx over dy, without x.
 */
#include "support/main.h"

enum { LAYERS = 53, REPLICAS = 2, LARGEST = 64 * 112 * 112, MOST_CHANNELS = 2048 };

typedef struct layer {
    size_t channels, side;
} layer;

static layer layers[LAYERS];

static size_t elements_of(const layer *l)
{
    return l->channels * l->side * l->side;
}

static void list_layers(void)
{
    static const size_t blocks[] = {3, 4, 6, 3};
    size_t count = 0;
    layers[count++] = (layer){64, 112};
    for (size_t s = 0; s < 4; ++s)
        for (size_t b = 0; b < blocks[s]; ++b) {
            const size_t channels = (size_t)64 << s, side = (size_t)56 >> s;
            /* The 3 x 3 convolution has the stride. */
            layers[count++] = (layer){channels, b == 0 && s > 0 ? 2 * side : side};
            layers[count++] = (layer){channels, side};
            if (b == 0)
                layers[count++] = (layer){4 * channels, side};
            layers[count++] = (layer){4 * channels, side};
        }
}

/* Memory for two of the largest layer and of the most channels. */
static slice all;

/* Both replicas' shards lie at the same place, but for what is written. */
static sbn_shard shard_of(const layer *l, size_t replica)
{
    sbn_shard s = all.shard;
    s.shape[1] = l->channels;
    s.shape[2] = l->side * l->side;
    s.y.offset += replica * elements_of(l);
    s.dx.offset += replica * elements_of(l);
    s.weight_grad.offset += replica * l->channels;
    s.bias_grad.offset += replica * l->channels;
    return s;
}

/* The most that the library holds in a step, of replicas in so many groups; from the output y and dx are in place. */
static size_t peak(size_t groups, int from_output)
{
    life norms[REPLICAS][LAYERS];
    size_t most = 0;
    for (size_t g = 0; g < groups; ++g) {
        sbn_group *part = fixture_group(queue, REPLICAS / groups, SBN_FORM_AUTO);
        for (size_t i = 0; i < LAYERS; ++i)
            norms[g][i] = LIVE_WITH(part, .channels = layers[i].channels,
                                    .from_output = from_output);
    }
    for (size_t step = 0; step < 2 * LAYERS; ++step) {
        const operation op = step < LAYERS ? FORWARD : BACKWARD;
        const size_t i = op == BACKWARD ? 2 * LAYERS - 1 - step : step;
        sbn_shard shards[REPLICAS];
        for (size_t r = 0; r < REPLICAS; ++r) {
            shards[r] = shard_of(&layers[i], r);
            if (from_output) {
                shards[r].x = op == BACKWARD ? (sbn_buffer)SBN_BUFFER_INIT : shards[r].y;
                shards[r].dy = shards[r].dx;
            }
        }
        for (size_t g = 0; g < groups; ++g)
            must(fixture_pass(op, norms[g][i].layer, shards + g, norms[g][i].saved, 0, NULL),
                 "a pass");
        must(clFinish(queue), "clFinish");
        most = sbn_device_memory() > most ? sbn_device_memory() : most;
    }
    for (size_t g = 0; g < groups; ++g) {
        for (size_t i = 0; i < LAYERS; ++i)
            fixture_end(norms[g][i].layer, norms[g][i].saved);
        sbn_group_destroy(norms[g]->group);
    }
    return most;
}

void checks(void)
{
    size_t activations = 0;
    list_layers();
    for (size_t i = 0; i < LAYERS; ++i)
        activations += REPLICAS * sizeof(float) * elements_of(&layers[i]);
    slice_open(&all, &device, queue, 0, 1, REPLICAS * MOST_CHANNELS, LARGEST / MOST_CHANNELS, 3);
    const size_t apart = peak(REPLICAS, 0), together = peak(1, 0), from_output = peak(1, 1);
    tap_ok(together <= apart && together > 0, "%zu bytes synchronised, %zu apart", together, apart);
    tap_ok(apart <= activations / 50 && from_output <= activations / 50,
           "and %zu from the output, beside activations of %zu bytes", from_output, activations);
    slice_close(&all);
}
