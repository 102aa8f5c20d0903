/*
 * Frozen layers against PyTorch's float64: output, dx, gradients of weight and
 * bias, all bits the same however the batch is split. No other rank is
 * needed, nothing is updated, and what is not wanted is not read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/ranks.h"
#include "support/vectors.h"

enum { SAMPLES = 7, CHANNELS = 5, PLANE = 33, ELEMENTS = SAMPLES * CHANNELS * PLANE };

static fixture device;
static cl_command_queue queue;

static sbn_group *make_group(size_t replicas, const sbn_transport *transport)
{
    const cl_command_queue queues[] = {queue, queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *made;
    config.queues = queues;
    config.replicas = replicas;
    config.transport = transport;
    must(sbn_group_create(&config, &made), "sbn_group_create");
    return made;
}

/* A case of frozen.safetensors, with its layer. */
typedef struct example {
    const char *name;
    sbn_tensor_file file;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice s; /* the queue, and the whole batch's buffers */
} example;

static sbn_buffer load(const example *e, const char *name, size_t count)
{
    float *values = vectors_get(&e->file, e->name, name, NULL);
    const sbn_buffer made = buffer_of(&device, queue, values, count);
    free(values);
    return made;
}

static void example_open(example *e, const char *name, sbn_group *group)
{
    memset(e, 0, sizeof *e);
    e->name = name;
    vectors_open(&e->file, "frozen.safetensors");
    e->s.queue = queue;
    e->s.shard = (sbn_shard){
        .size = sizeof(sbn_shard),
        .dims = 3,
        .shape = {SAMPLES, CHANNELS, PLANE},
        .x = load(e, "x", ELEMENTS),
        .dy = load(e, "dy", ELEMENTS),
        .weight = load(e, "weight", CHANNELS),
        .bias = load(e, "bias", CHANNELS),
        .y = buffer_of(&device, queue, NULL, ELEMENTS),
        .dx = buffer_of(&device, queue, NULL, ELEMENTS),
        .weight_grad = buffer_of(&device, queue, NULL, CHANNELS),
        .bias_grad = buffer_of(&device, queue, NULL, CHANNELS),
    };
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = CHANNELS;
    config.eps = 1e-3;
    config.name = name;
    config.affine = strcmp(name, "affine") == 0;
    must(sbn_batchnorm_create(group, &config, &e->layer), "sbn_batchnorm_create");
    must(sbn_saved_create(e->layer, &e->saved), "sbn_saved_create");
    float *mean = vectors_get(&e->file, name, "running_mean", NULL);
    float *var = vectors_get(&e->file, name, "running_var", NULL);
    must(sbn_batchnorm_set_running_stats(e->layer, mean, var, NULL), "set");
    free(mean);
    free(var);
    must(sbn_batchnorm_set_frozen(e->layer, 1), "sbn_batchnorm_set_frozen");
}

static void example_close(example *e)
{
    sbn_saved_destroy(e->saved);
    sbn_batchnorm_destroy(e->layer);
    slice_close(&e->s);
    sbn__tensor_file_close(&e->file);
}

static void expect_tensor(const example *e, const sbn_buffer *buffer, const char *name,
                          double units)
{
    size_t count;
    float *expected = vectors_get(&e->file, e->name, name, &count);
    expect_floats(&e->s, buffer, expected, count, units, name);
    free(expected);
}

/* The batch in `replicas` shards, with gradients of its own for each. */
static void split(const example *e, sbn_shard *shards, size_t replicas)
{
    size_t first = 0;
    for (size_t r = 0; r < replicas; ++r) {
        const size_t samples = r + 1 < replicas ? 2 : SAMPLES - first;
        const size_t skip = first * CHANNELS * PLANE;
        shards[r] = e->s.shard;
        shards[r].shape[0] = samples;
        shards[r].x.offset += skip;
        shards[r].y.offset += skip;
        shards[r].dy.offset += skip;
        shards[r].dx.offset += skip;
        if (r > 0) {
            shards[r].weight_grad = buffer_of(&device, queue, NULL, CHANNELS);
            shards[r].bias_grad = buffer_of(&device, queue, NULL, CHANNELS);
        }
        first += samples;
    }
}

static uint64_t digest_all(const example *e)
{
    uint64_t digest = digest_buffer(DIGEST_START, &e->s, &e->s.shard.y, ELEMENTS);
    digest = digest_buffer(digest, &e->s, &e->s.shard.dx, ELEMENTS);
    digest = digest_buffer(digest, &e->s, &e->s.shard.weight_grad, CHANNELS);
    return digest_buffer(digest, &e->s, &e->s.shard.bias_grad, CHANNELS);
}

/* Forward and backward by one and by three replicas: PyTorch's values, the same bits. */
static void check_values(const char *name)
{
    uint64_t digests[2];
    for (int i = 0; i < 2; ++i) {
        const size_t replicas = i ? 3 : 1;
        sbn_group *group = make_group(replicas, NULL);
        example e;
        sbn_shard shards[3] = {{0}};
        sbn_result result = SBN_RESULT_INIT;
        int64_t tracked;
        example_open(&e, name, group);
        split(&e, shards, replicas);
        expect(sbn_forward(e.layer, shards, e.saved, 0, &result), SBN_SUCCESS, "", name);
        tap_ok(result.count == SAMPLES * PLANE && result.synchronised, "its count is this rank's");
        expect(sbn_backward(e.layer, shards, e.saved, SBN_GLOBAL_GRADIENTS, NULL), SBN_SUCCESS, "",
               "its backward pass");
        digests[i] = digest_all(&e);
        /* Five roundings of y, three of dx; a block's sums have a few units per gradient. */
        expect_tensor(&e, &e.s.shard.y, "y", 6);
        expect_tensor(&e, &e.s.shard.dx, "dx", 4);
        if (strcmp(name, "affine") == 0) {
            expect_tensor(&e, &e.s.shard.weight_grad, "weight_grad", 8);
            expect_tensor(&e, &e.s.shard.bias_grad, "bias_grad", 8);
        }
        must(sbn_batchnorm_running_stats(e.layer, NULL, NULL, &tracked), "get");
        tap_ok(tracked == 0, "no batch was tracked");
        /* Evaluation and recomputation: the same bits. */
        const uint64_t y = digest_buffer(DIGEST_START, &e.s, &e.s.shard.y, ELEMENTS);
        buffer_fill(&e.s, &e.s.shard.y, ELEMENTS, PATTERN);
        must(sbn_evaluate(e.layer, shards), "sbn_evaluate");
        const uint64_t evaluated = digest_buffer(DIGEST_START, &e.s, &e.s.shard.y, ELEMENTS);
        buffer_fill(&e.s, &e.s.shard.y, ELEMENTS, PATTERN);
        must(sbn_recompute(e.layer, shards, e.saved), "sbn_recompute");
        tap_ok(evaluated == y && digest_buffer(DIGEST_START, &e.s, &e.s.shard.y, ELEMENTS) == y,
               "evaluation and recomputation give the same bits");
        for (size_t r = 1; r < replicas; ++r) {
            clReleaseMemObject(shards[r].weight_grad.mem);
            clReleaseMemObject(shards[r].bias_grad.mem);
        }
        example_close(&e);
        sbn_group_destroy(group);
    }
    tap_ok(digests[0] == digests[1], "%s: three replicas give the bits of one", name);
}

/* A transport that nobody answers. */
static int calls;

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)context, (void)tag, (void)words, (void)count, (void)request;
    ++calls;
    return -1;
}

static int test(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    return ++calls, -1;
}

/* A rank of two whose other never comes; gradients local, accumulated, or not wanted at all. */
static void check_alone(void)
{
    const sbn_transport table = {.size = sizeof table,
                                 .world_size = 2,
                                 .start = start,
                                 .test = test};
    sbn_group *group = make_group(1, &table);
    example e;
    sbn_pass *pass;
    example_open(&e, "affine", group);
    const sbn_shard all = e.s.shard;
    must(sbn_forward_begin(e.layer, &all, e.saved, 0, &pass), "begin");
    int ready = 0;
    must(sbn_pass_progress(pass, &ready), "progress");
    tap_ok(ready == 1, "a frozen forward pass is ready at once");
    expect(sbn_batchnorm_set_frozen(e.layer, 0), SBN_INVALID_ARGUMENT, "affine|under way|freezing",
           "release while a pass is under way");
    must(sbn_pass_end(pass, NULL), "end");
    must(sbn_backward(e.layer, &all, e.saved, 0, NULL), "sbn_backward");
    expect_tensor(&e, &all.weight_grad, "weight_grad", 8);
    expect_tensor(&e, &all.bias_grad, "bias_grad", 8);
    buffer_fill(&e.s, &all.bias_grad, CHANNELS, 0.0f);
    buffer_fill(&e.s, &all.weight_grad, CHANNELS, 0.0f);
    for (int i = 0; i < 2; ++i)
        must(sbn_backward(e.layer, &all, e.saved, SBN_ACCUMULATE_GRADIENTS, NULL), "sbn_backward");
    float once[CHANNELS], twice[CHANNELS];
    float *expected = vectors_get(&e.file, "affine", "bias_grad", NULL);
    buffer_read(&e.s, &all.bias_grad, CHANNELS, twice);
    for (size_t c = 0; c < CHANNELS; ++c)
        once[c] = twice[c] / 2;
    tap_ok(fabsf(once[0] - expected[0]) <= 1e-5f * fmaxf(1, fabsf(expected[0])),
           "accumulated twice: %g", (double)twice[0]);
    free(expected);

    /* Not trained: neither x nor gradients. */
    sbn_shard bare = all;
    bare.x.mem = bare.weight_grad.mem = bare.bias_grad.mem = NULL;
    buffer_fill(&e.s, &all.dx, ELEMENTS, PATTERN);
    expect(sbn_backward(e.layer, &bare, e.saved, 0, NULL), SBN_SUCCESS, "",
           "weight and bias not trained: no x");
    expect_tensor(&e, &all.dx, "dx", 4);
    sbn_shard without = all;
    without.x.mem = NULL;
    expect(sbn_backward(e.layer, &without, e.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "x: expected a buffer", "weight trained: x is needed");

    /* NaN in x is nothing to dx; in dy it stays where it is. */
    float *dx = malloc(sizeof(float) * ELEMENTS);
    buffer_fill(&e.s, &all.x, 40, NAN);
    buffer_fill(&e.s, &all.dy, 1, INFINITY);
    must(sbn_backward(e.layer, &all, e.saved, 0, NULL), "sbn_backward");
    buffer_read(&e.s, &all.dx, ELEMENTS, dx);
    int finite = 0;
    for (size_t i = 0; i < ELEMENTS; ++i)
        finite += isfinite(dx[i]) != 0;
    tap_ok(finite == ELEMENTS - 1 && isinf(dx[0]), "Inf in dy, NaN in x: %d of %d are finite",
           finite, (int)ELEMENTS);
    free(dx);
    tap_ok(calls == 0, "the transport was not called");

    /* A single value is enough; an empty batch too. */
    sbn_shard one = all;
    one.shape[0] = one.shape[2] = 1;
    expect(sbn_forward(e.layer, &one, e.saved, 0, NULL), SBN_SUCCESS, "", "one value per channel");
    one.shape[0] = 0;
    expect(sbn_forward(e.layer, &one, e.saved, 0, NULL), SBN_SUCCESS, "", "no value");
    expect(sbn_backward(e.layer, &one, e.saved, 0, NULL), SBN_SUCCESS, "", "its backward pass");

    /* The group fails: frozen passes go on. */
    must(sbn_batchnorm_set_frozen(e.layer, 0), "release");
    expect(sbn_forward(e.layer, &all, e.saved, 0, NULL), SBN_TRANSPORT_ERROR, "start",
           "released, it communicates");
    must(sbn_batchnorm_set_training(e.layer, 0), "evaluation");
    expect(sbn_forward(e.layer, &all, e.saved, 0, NULL), SBN_SUCCESS, "",
           "evaluation after the group has failed");
    expect(sbn_backward(e.layer, &all, e.saved, 0, NULL), SBN_SUCCESS, "", "and its backward pass");
    example_close(&e);
    sbn_group_destroy(group);
}

/* The training flag is not the frozen one. */
static void check_flags(void)
{
    sbn_group *group = make_group(1, NULL);
    example e;
    int64_t tracked;
    example_open(&e, "affine", group);
    tap_ok(sbn_batchnorm_is_training(e.layer) && sbn_batchnorm_is_frozen(e.layer),
           "frozen, in training");
    must(sbn_batchnorm_set_training(e.layer, 0), "train");
    must(sbn_batchnorm_set_training(e.layer, 1), "train");
    must(sbn_forward(e.layer, &e.s.shard, e.saved, 0, NULL), "sbn_forward");
    must(sbn_batchnorm_running_stats(e.layer, NULL, NULL, &tracked), "get");
    tap_ok(tracked == 0, "train does not release");
    must(sbn_batchnorm_set_frozen(e.layer, 0), "freeze");
    /* The frozen pass's backward is still that of constants. */
    must(sbn_backward(e.layer, &e.s.shard, e.saved, 0, NULL), "sbn_backward");
    expect_tensor(&e, &e.s.shard.dx, "dx", 4);
    must(sbn_forward(e.layer, &e.s.shard, e.saved, 0, NULL), "sbn_forward");
    must(sbn_batchnorm_running_stats(e.layer, NULL, NULL, &tracked), "get");
    tap_ok(tracked == 1, "released, it trains");
    expect(sbn_batchnorm_set_training(e.layer, 2), SBN_INVALID_ARGUMENT, "training|0 or 1|got 2",
           "train 2");
    expect(sbn_batchnorm_set_frozen(NULL, 1), SBN_INVALID_ARGUMENT, "layer|NULL", "freeze NULL");
    example_close(&e);
    sbn_group_destroy(group);
}

static int freeze_one(test_rank *m)
{
    /* Rank 1 forgets. */
    if (m->rank == 0)
        sbn_batchnorm_set_frozen(m->layer, 1);
    sbn_batchnorm_set_frozen(m->second, 1);
    const int status = sbn_forward(m->second, m->shards, m->second_saved, 0, NULL);
    if (status)
        return rank_says(m, status);
    return rank_says(m, sbn_backward(m->second, m->shards, m->second_saved, SBN_GLOBAL_GRADIENTS,
                                     NULL));
}

static int disagree(test_rank *m)
{
    int status = SBN_SUCCESS;
    if (m->rank == 0)
        status = sbn_backward(m->second, m->shards, m->second_saved, SBN_GLOBAL_GRADIENTS, NULL);
    else
        status = sbn_forward(m->layer, m->shards, m->saved, 0, NULL);
    return rank_says(m, status);
}

/* Gradients of the group over two threads; and one that is not frozen is named. */
static void check_ranks(void)
{
    const size_t ones[] = {1, 1}, samples[] = {2, 3};
    test_ranks all;
    ranks_open(&all, &device, 2, ones, samples, NULL);
    ranks_do(&all, freeze_one);
    float gradients[2][2 * RANK_CHANNELS];
    for (int rank = 0; rank < 2; ++rank) {
        const slice *s = &all.of[rank].slices[0];
        rank_expect(&all.of[rank], SBN_SUCCESS, "", "the group's gradients, frozen");
        must(clFinish(s->queue), "clFinish");
        buffer_read(s, &s->shard.weight_grad, RANK_CHANNELS, gradients[rank]);
        buffer_read(s, &s->shard.bias_grad, RANK_CHANNELS, gradients[rank] + RANK_CHANNELS);
    }
    double sum = 0.0;
    for (size_t k = 0; k < 5 * RANK_PLANE; ++k)
        sum += (double)batch_dy(9, k / RANK_PLANE, 0, k % RANK_PLANE);
    tap_ok(!memcmp(gradients[0], gradients[1], sizeof gradients[0]) &&
               fabs(gradients[0][RANK_CHANNELS] - sum) < 1e-4,
           "both have the sum over both: %g, expected %g", (double)gradients[0][RANK_CHANNELS],
           sum);
    ranks_do(&all, disagree);
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_DISAGREEMENT, "rank 0|frozen backward|rank 1|forward",
                    "one is frozen, the other not");
    ranks_close(&all);
}

static void checks(void)
{
    check_values("affine");
    check_values("plain");
    check_alone();
    check_flags();
    check_ranks();
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
