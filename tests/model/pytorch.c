/*
 * PyTorch's values: running statistics over batches, with every kind of momentum and after a reset;
 * and a layer that is converted to SyncBatchNorm between two steps, here to three replicas. The way
 * back: tests/model/convert.c.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "support/main.h"
#include "support/vectors.h"

/* One check: a layer's running statistics are those of `group` in the file, within a few roundings. */
static void expect_statistics(const sbn_tensor_file *file, const char *group,
                              const sbn_batchnorm *layer, int64_t batches)
{
    enum { MOST = 8 };
    float got[2][MOST];
    size_t channels;
    int64_t tracked;
    double worst = 0.0;
    must(sbn_batchnorm_running_stats(layer, got[0], got[1], &tracked), "get");
    for (int which = 0; which < 2; ++which) {
        float *expected = vectors_get(file, group, which ? "running_var" : "running_mean",
                                      &channels);
        for (size_t c = 0; c < channels; ++c) {
            const double off = fabs((double)got[which][c] - expected[c]);
            worst = off <= worst ? worst : off;
        }
        free(expected);
    }
    /* Of values below 2. */
    tap_ok(worst <= 0x1p-22 && tracked == batches, "%s: %lld batches, %g off", group,
           (long long)tracked, worst);
}

/* --- momentum ------------------------------------------------------------------------ */

enum { TRAINED_CHANNELS = 3, TRAINED_BATCHES = 3, TRAINED_VALUES = 4 * 3 * 9 };

static void train(sbn_batchnorm *layer, const float *x)
{
    sbn_saved *saved = fixture_saved(layer);
    for (size_t b = 0; b < TRAINED_BATCHES; ++b) {
        sbn_shard shard = {.size = sizeof(sbn_shard), .dims = 3, .shape = {4, TRAINED_CHANNELS, 9}};
        shard.x = buffer_of(&device, queue, x + b * TRAINED_VALUES, TRAINED_VALUES);
        shard.y = buffer_of(&device, queue, NULL, TRAINED_VALUES);
        must(sbn_forward(layer, &shard, saved, 0, NULL), "sbn_forward");
        must(clFinish(queue), "clFinish");
        clReleaseMemObject(shard.x.mem);
        clReleaseMemObject(shard.y.mem);
    }
    sbn_saved_destroy(saved);
}

static void check_momentum(void)
{
    static const struct {
        const char *name, *reset;
        sbn_average average;
        double momentum;
    } cases[] = {{"tenth", "tenth.reset", SBN_AVERAGE_MOMENTUM, 0.1},
                 {"more", "more.reset", SBN_AVERAGE_MOMENTUM, 0.3},
                 {"none", "none.reset", SBN_AVERAGE_CUMULATIVE, 0.1}};
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO);
    sbn_tensor_file file;
    vectors_open(&file, "trained.safetensors");
    float *x = vectors_get(&file, "", "x", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sbn_batchnorm *layer = LAYER_WITH(group, .channels = TRAINED_CHANNELS, .affine = OFF,
                                          .average = cases[i].average,
                                          .momentum = cases[i].momentum);
        train(layer, x);
        expect_statistics(&file, cases[i].name, layer, TRAINED_BATCHES);
        must(sbn_batchnorm_reset_running_stats(layer), "reset");
        expect_statistics(&file, cases[i].reset, layer, 0);
        sbn_batchnorm_destroy(layer);
    }
    free(x);
    sbn__tensor_file_close(&file);
    sbn_group_destroy(group);
}

/* --- conversion ---------------------------------------------------------------------- */

enum { CHANNELS = 4, SAMPLES = 6, PLANE = 20, VALUES = SAMPLES * CHANNELS * PLANE, REPLICAS = 3 };

/* The whole batch, and the parts of 1, 2 and 3 samples that replicas take of it. */
typedef struct network {
    sbn_tensor_file file;
    slice whole, parts[REPLICAS];
    sbn_shard shards[REPLICAS]; /* of the parts */
    sbn_group *one, *three;
    sbn_batchnorm *layer;
    sbn_model *model;
    sbn_saved *saved;
} network;

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *parameters)
{
    const sbn_shard *shard = &((const network *)context)->shards[replica];
    (void)name, (void)layer;
    *parameters = (sbn_parameters){sizeof *parameters, shard->weight, shard->bias};
    return SBN_SUCCESS;
}

static void network_open(network *n)
{
    vectors_open(&n->file, "converted.safetensors");
    float *settings = vectors_get(&n->file, "", "settings", NULL);
    n->one = fixture_group(queue, 1, SBN_FORM_AUTO);
    n->three = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    slice_open(&n->whole, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 1);
    for (size_t r = 0; r < REPLICAS; ++r) {
        slice_open(&n->parts[r], &device, queue, 0, r + 1, CHANNELS, PLANE, 1);
        n->shards[r] = n->parts[r].shard;
    }
    n->layer = LAYER_WITH(n->one, .channels = CHANNELS, .eps = (double)settings[0],
                          .momentum = (double)settings[1]);
    free(settings);
    n->saved = fixture_saved(n->layer);
    const sbn_parameters alone = {sizeof alone, n->whole.shard.weight, n->whole.shard.bias};
    must(sbn_model_create(&n->model), "sbn_model_create");
    must(sbn_model_add(n->model, "before", n->layer, &alone), "sbn_model_add");
}

static void network_close(network *n)
{
    slice_close(&n->whole);
    slices_close(n->parts, REPLICAS);
    sbn_model_destroy(n->model);
    fixture_end(n->layer, n->saved);
    sbn_group_destroy(n->one);
    sbn_group_destroy(n->three);
    sbn__tensor_file_close(&n->file);
}

/* Batch `b` of the file in as many slices. */
static void take_batch(const network *n, size_t b, const slice *slices, size_t count)
{
    float *x = vectors_get(&n->file, "", "x", NULL), *dy = vectors_get(&n->file, "", "dy", NULL);
    size_t at = 0;
    for (const slice *s = slices; s < slices + count; at += s++->elements) {
        buffer_write(s, &s->shard.x, s->elements, x + b * VALUES + at);
        buffer_write(s, &s->shard.dy, s->elements, dy + at);
    }
    free(x);
    free(dy);
}

/* The last replica has a tensor of the channels. */
static void expect_last(const network *n, const sbn_buffer *buffer, const char *name, double units)
{
    float *expected = vectors_get(&n->file, "", name, NULL);
    expect_floats(&n->whole, buffer, expected, CHANNELS, units, name);
    free(expected);
}

/* The replicas together have one of the batch, at this place in their shards. */
static void expect_batch(const network *n, size_t place, const char *name)
{
    float *expected = vectors_get(&n->file, "", name, NULL), *at = expected;
    for (size_t r = 0; r < REPLICAS; at += n->parts[r++].elements) {
        const void *buffer = (const char *)&n->shards[r] + place;
        expect_floats(&n->parts[r], buffer, at, n->parts[r].elements, 8, name);
    }
    free(expected);
}

static void check_conversion(void)
{
    network n;
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    network_open(&n);
    const sbn_shard *last = &n.shards[REPLICAS - 1];
    /* Its weight and bias; the file holds the layer at other times, too. */
    config.strict = 0;
    must(sbn_model_load(n.model, data_path("converted.safetensors"), &config), "sbn_model_load");
    must(sbn_batchnorm_reset_running_stats(n.layer), "reset");
    take_batch(&n, 0, &n.whole, 1);
    must(sbn_forward(n.layer, &n.whole.shard, n.saved, 0, NULL), "sbn_forward");
    expect_statistics(&n.file, "before", n.layer, 1);

    expect(sbn_model_set_group(n.model, n.three, replicate, &n), SBN_SUCCESS, "", "converted");
    expect_statistics(&n.file, "converted", n.layer, 1);
    expect_last(&n, &last->weight, "converted.weight", 0);
    expect_last(&n, &last->bias, "converted.bias", 0);
    tap_ok(sbn_batchnorm_is_training(n.layer), "it trains still");

    take_batch(&n, 1, n.parts, REPLICAS);
    must(sbn_forward(n.layer, n.shards, n.saved, 0, NULL), "sbn_forward");
    must(sbn_backward(n.layer, n.shards, n.saved, SBN_GLOBAL_GRADIENTS, NULL), "sbn_backward");
    /* Five roundings of y, three of dx, and those of mean and 1 / sqrt(var + eps); few of sums. */
    expect_batch(&n, offsetof(sbn_shard, y), "y");
    expect_batch(&n, offsetof(sbn_shard, dx), "dx");
    expect_last(&n, &last->weight_grad, "weight_grad", 8);
    expect_last(&n, &last->bias_grad, "bias_grad", 8);
    expect_statistics(&n.file, "after", n.layer, 2);
    take_batch(&n, 2, n.parts, REPLICAS);
    must(sbn_evaluate(n.layer, n.shards), "sbn_evaluate");
    expect_batch(&n, offsetof(sbn_shard, y), "evaluated");
    network_close(&n);
}

void checks(void)
{
    check_momentum();
    check_conversion();
}
