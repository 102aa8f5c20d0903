/*
 * What layers with from_output refuse: settings, shards, and weights that y could not be divided by,
 * of one replica, two, several layers and ranks. After a refusal everything is as before.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/ranks.h"

enum { SAMPLES = 4, CHANNELS = 5, PLANE = 9, ELEMENTS = SAMPLES / 2 * CHANNELS * PLANE };

static fixture device;
static cl_command_queue queue;
static sbn_group *group;
static slice at[2];

static sbn_batchnorm *make_layer(const char *name, sbn_type type, sbn_activation activation)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    config.name = name;
    config.channels = CHANNELS;
    config.type = type;
    config.activation = activation;
    config.from_output = 1;
    must(sbn_batchnorm_create(group, &config, &layer), sbn_last_error());
    return layer;
}

/* --- settings --- */

static void refuse(sbn_batchnorm_config config, const char *words, const char *what)
{
    sbn_batchnorm *layer;
    config.channels = CHANNELS;
    config.from_output = 1;
    expect(sbn_batchnorm_create(group, &config, &layer), SBN_INVALID_ARGUMENT, words, what);
}

static void check_settings(void)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.residual = 1;
    refuse(config,
           "from_output: expected 0 with a residual, which y alone does not give back, got 1",
           "a residual");
    config.residual = 0;
    config.activation = SBN_RELU;
    refuse(config, "from_output: expected 0 with SBN_RELU, which has no inverse, got 1", "a ReLU");
    config.activation = SBN_LEAKY_RELU;
    const double slopes[] = {0.0, -0.01, 0x1.fp-15, 0x1.01p14};
    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; ++i) {
        config.slope = slopes[i];
        refuse(config, "slope: expected 2^-14 to 2^14 with from_output, got", "a slope");
    }
    /* Of no effect without a leaky ReLU. */
    config.activation = SBN_IDENTITY;
    config.slope = 0.0;
    config.channels = CHANNELS;
    config.from_output = 1;
    sbn_batchnorm *layer;
    expect(sbn_batchnorm_create(group, &config, &layer), SBN_SUCCESS, "", "no activation");
    sbn_batchnorm_config got = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_settings(layer, &got), "sbn_batchnorm_settings");
    tap_ok(got.from_output == 1, "sbn_batchnorm_settings gives it");
    must(sbn_batchnorm_destroy(layer), "sbn_batchnorm_destroy");
}

/* --- shards --- */

static void check_shards(void)
{
    sbn_batchnorm *layer = make_layer("inverts", SBN_F32, SBN_LEAKY_RELU);
    sbn_saved *saved = fixture_saved(layer);
    sbn_shard shards[2] = {at[0].shard, at[1].shard};
    shards[1].y = shards[1].x;
    shards[1].y.offset += 1;
    expect(sbn_forward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: y is written and must not overlap x", "y one element behind x");
    shards[1].y = shards[1].x;
    shards[1].y_pitch = CHANNELS * PLANE + 1;
    expect(sbn_forward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT, "replica 1: y",
           "y over x with another pitch");
    shards[1] = at[1].shard;
    must(sbn_forward(layer, shards, saved, 0, NULL), sbn_last_error());
    shards[0].x = shards[1].x = (sbn_buffer)SBN_BUFFER_INIT;
    expect(sbn_backward(layer, shards, saved, 0, NULL), SBN_SUCCESS, "", "backward without x");
    shards[1].y = (sbn_buffer)SBN_BUFFER_INIT;
    expect(sbn_backward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "backward of layer \"inverts\", rank 0, replica 1: y: expected a buffer, got NULL",
           "backward without y");
    shards[1].y = at[1].shard.y;
    shards[1].dx = shards[1].y;
    expect(sbn_backward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: dx is written and must not overlap y", "dx over y");
    shards[1].dx = at[0].shard.y;
    expect(sbn_backward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: dx must not overlap y of replica 0", "dx over another replica's y");
    shards[1].dx = at[1].shard.dx;
    shards[1].bias = (sbn_buffer)SBN_BUFFER_INIT;
    expect(sbn_backward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: bias: expected a buffer, got NULL", "backward without the bias");
    fixture_end(layer, saved);
}

/* --- weights --- */

static void put(const sbn_buffer *buffer, size_t channel, float value)
{
    must(clEnqueueWriteBuffer(queue, buffer->mem, CL_TRUE,
                              sizeof value * (buffer->offset + channel), sizeof value, &value, 0,
                              NULL, NULL),
         "clEnqueueWriteBuffer");
}

/* What a refused pass must leave. */
static uint64_t state(sbn_batchnorm *layer)
{
    float mean[CHANNELS], var[CHANNELS];
    int64_t batches;
    uint64_t digest = DIGEST_START;
    must(sbn_batchnorm_running_stats(layer, mean, var, &batches), "sbn_batchnorm_running_stats");
    digest = digest_of(digest, mean, sizeof mean);
    digest = digest_of(digest, var, sizeof var);
    digest = digest_of(digest, &batches, sizeof batches);
    for (size_t r = 0; r < 2; ++r) {
        digest = digest_buffer(digest, &at[r], &at[r].shard.x, ELEMENTS);
        digest = digest_buffer(digest, &at[r], &at[r].shard.y, ELEMENTS);
    }
    return digest;
}

typedef struct weight_case {
    sbn_type type;
    sbn_activation activation;
    float weight, bias;
    const char *words; /* "": it is accepted */
} weight_case;

#define WEIGHT "replica 1: weight: expected a magnitude from "
static const weight_case weights[] = {
    {SBN_F32, SBN_IDENTITY, 0.0f, 1.0f, WEIGHT "9.54e-07 in channel 3, whose bias is 1,|got 0"},
    {SBN_F32, SBN_IDENTITY, -0.0f, 0.0f, WEIGHT "1.88e-37 in channel 3, whose bias is 0,|got -0"},
    {SBN_F32, SBN_IDENTITY, 0x1p-20f, 1.0f, ""},
    {SBN_F32, SBN_IDENTITY, 0x1.fffffep-21f, 1.0f, WEIGHT "9.54e-07 in channel 3"},
    {SBN_F32, SBN_IDENTITY, -1e-30f, 0.0f, ""},
    {SBN_F32, SBN_LEAKY_RELU, INFINITY, 0.0f, WEIGHT "|in channel 3|got inf"},
    {SBN_F32, SBN_LEAKY_RELU, NAN, 0.0f, WEIGHT "|in channel 3|got nan"},
    {SBN_F32, SBN_LEAKY_RELU, 1.0f, NAN, WEIGHT "nan in channel 3, whose bias is nan"},
    {SBN_F32, SBN_LEAKY_RELU, 1.0f, -INFINITY, WEIGHT "inf in channel 3, whose bias is -inf"},
    {SBN_F16, SBN_IDENTITY, 0x1.001p-6f, 2.0f, ""},
    {SBN_F16, SBN_IDENTITY, 0x1p-7f, 2.0f,
     WEIGHT "0.0156 in channel 3, whose bias is 2,|got 0.0078125"},
    {SBN_F16, SBN_IDENTITY, 0x1p-21f, 0.0f, ""},
    {SBN_F16, SBN_IDENTITY, 0x1p-22f, 0.0f, WEIGHT "4.77e-07"},
    {SBN_F16, SBN_LEAKY_RELU, 0x1p-15f, 0.0f, WEIGHT "4.77e-05"},
    {SBN_F16, SBN_LEAKY_RELU, 0x1p-14f, 0.0f, ""},
    {SBN_BF16, SBN_IDENTITY, -0.25f, -4.0f, ""},
    {SBN_BF16, SBN_IDENTITY, -0.25f, -4.5f,
     WEIGHT "0.281 in channel 3, whose bias is -4.5,|got -0.25"},
};

static void check_weight(const weight_case *w, int frozen)
{
    char what[96];
    sbn_batchnorm *layer = make_layer("inverts", w->type, w->activation);
    sbn_saved *saved = fixture_saved(layer);
    const sbn_shard shards[2] = {at[0].shard, at[1].shard};
    must(sbn_batchnorm_set_frozen(layer, frozen), "sbn_batchnorm_set_frozen");
    put(&shards[1].weight, 3, w->weight);
    put(&shards[1].bias, 3, w->bias);
    snprintf(what, sizeof what, "%sa weight of %g with a bias of %g", frozen ? "frozen, " : "",
             (double)w->weight, (double)w->bias);
    const uint64_t before = state(layer);
    expect(sbn_forward(layer, shards, saved, 0, NULL),
           *w->words ? SBN_INVALID_ARGUMENT : SBN_SUCCESS, w->words, what);
    tap_ok((state(layer) == before) == (*w->words != '\0'), "%s: %s", what,
           *w->words ? "nothing has changed" : "the pass has run");
    if (*w->words) {
        expect(sbn_backward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT, "saved",
               "no backward pass of it");
        expect(sbn_evaluate(layer, shards), SBN_SUCCESS, "", "evaluation accepts it");
    }
    put(&shards[1].weight, 3, 1.0f);
    put(&shards[1].bias, 3, 0.0f);
    expect(sbn_forward(layer, shards, saved, 0, NULL), SBN_SUCCESS, "", "a good weight");
    fixture_end(layer, saved);
    slice_reset(&at[1]);
}

/* In the second of two layers: the first one's y is not written either. */
static void check_branches(void)
{
    sbn_batchnorm *first = make_layer("first", SBN_F32, SBN_IDENTITY);
    sbn_batchnorm *second = make_layer("second", SBN_F32, SBN_IDENTITY);
    sbn_saved *of_first = fixture_saved(first), *of_second = fixture_saved(second);
    slice more[2];
    sbn_shard shards[2][2];
    sbn_branch branches[2] = {SBN_BRANCH_INIT, SBN_BRANCH_INIT};
    for (size_t r = 0; r < 2; ++r) {
        slice_open(&more[r], &device, queue, 2 * r, 2, CHANNELS, PLANE, 6);
        shards[0][r] = at[r].shard;
        shards[1][r] = more[r].shard;
    }
    branches[0].layer = first;
    branches[0].shards = shards[0];
    branches[0].saved = of_first;
    branches[1].layer = second;
    branches[1].shards = shards[1];
    branches[1].saved = of_second;
    put(&shards[1][0].weight, 0, 0.0f);
    const uint64_t before = state(first);
    expect(sbn_forward_branches(branches, 2, NULL), SBN_INVALID_ARGUMENT,
           "branches[1]: forward of layer \"second\", rank 0, replica 0: weight: |in channel 0",
           "the second of two layers");
    tap_ok(state(first) == before, "the first layer is as before");
    put(&shards[1][0].weight, 0, 1.0f);
    expect(sbn_forward_branches(branches, 2, NULL), SBN_SUCCESS, "", "both");
    fixture_end(first, of_first);
    fixture_end(second, of_second);
    for (size_t r = 0; r < 2; ++r)
        slice_close(&more[r]);
}

/* --- ranks --- */

static int forward_of_ranks(test_rank *m)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    const float weights_of_rank[RANK_CHANNELS] = {1.0f, m->rank == 1 ? 1e-9f : 1.0f, 1.0f};
    config.name = "inverts";
    config.channels = RANK_CHANNELS;
    config.from_output = 1;
    must(sbn_batchnorm_create(m->group, &config, &layer), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    if (m->replicas > 0)
        must(clEnqueueWriteBuffer(m->queue, m->shards[0].weight.mem, CL_TRUE,
                                  sizeof(float) * m->shards[0].weight.offset,
                                  sizeof weights_of_rank, weights_of_rank, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
    rank_says(m, sbn_forward(layer, m->shards, saved, 0, NULL));
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    return m->status;
}

static void check_ranks(void)
{
    const size_t replicas[] = {1, 1, 1, 0}, samples[] = {2, 3, 1};
    test_ranks all;
    ranks_open(&all, &device, 4, replicas, samples, NULL);
    ranks_reset(&all);
    const uint64_t before = ranks_state(&all);
    ranks_do(&all, forward_of_ranks);
    for (int rank = 0; rank < all.count; ++rank)
        rank_expect(&all.of[rank], rank == 1 ? SBN_INVALID_ARGUMENT : SBN_REMOTE_ERROR,
                    rank == 1 ? "layer \"inverts\", rank 1, replica 0: weight: |in channel 1"
                              : "rank 1 called forward of layer \"inverts\"|SBN_INVALID_ARGUMENT",
                    "a small weight on rank 1");
    tap_ok(ranks_state(&all) == before, "ranks: nothing has changed");
    ranks_do(&all, rank_train);
    for (int rank = 0; rank < all.count; ++rank)
        rank_expect(&all.of[rank], SBN_SUCCESS, "", "the groups work again");
    ranks_close(&all);
}

static void checks(void)
{
    queue = fixture_queue(&device, 0);
    group = fixture_group(queue, 2, SBN_FORM_AUTO);
    for (size_t r = 0; r < 2; ++r)
        slice_open(&at[r], &device, queue, 2 * r, 2, CHANNELS, PLANE, 5);
    check_settings();
    check_shards();
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i)
        check_weight(&weights[i], i % 2 == 1);
    check_branches();
    for (size_t r = 0; r < 2; ++r)
        slice_close(&at[r]);
    must(sbn_group_destroy(group), "sbn_group_destroy");
    clReleaseCommandQueue(queue);
    check_ranks();
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
