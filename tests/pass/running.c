/*
 * Running statistics against hand arithmetic; batches that are empty in part
 * or in all; and who communicates: evaluation by running statistics never
 * does, evaluation by batch statistics does.
 */
#include <math.h>
#include <string.h>

#include "support/ranks.h"

enum { CHANNELS = RANK_CHANNELS, PLANE = RANK_PLANE, BATCHES = 3, SAMPLES = 3 };

static fixture device;
static cl_command_queue queue;

typedef struct moments {
    double mean[CHANNELS], unbiased[CHANNELS];
} moments;

static moments moments_of(unsigned seed)
{
    moments m;
    const double n = SAMPLES * PLANE;
    for (size_t c = 0; c < CHANNELS; ++c) {
        double sum = 0.0, squares = 0.0;
        for (size_t k = 0; k < SAMPLES * PLANE; ++k)
            sum += (double)batch_x(seed, k / PLANE, c, k % PLANE);
        m.mean[c] = sum / n;
        for (size_t k = 0; k < SAMPLES * PLANE; ++k)
            squares += pow((double)batch_x(seed, k / PLANE, c, k % PLANE) - m.mean[c], 2.0);
        m.unbiased[c] = squares / (n - 1.0);
    }
    return m;
}

/* The largest relative difference, in units of a float's last place. */
static double distance(const float *got, const double *expected)
{
    double worst = 0.0;
    for (size_t c = 0; c < CHANNELS; ++c)
        worst = fmax(worst, fabs(got[c] - expected[c]) / fmax(fabs(expected[c]), 1e-3) * 0x1p24);
    return worst;
}

static sbn_group *make_group(const sbn_transport *transport)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *made;
    config.queues = &queue;
    config.replicas = 1;
    config.transport = transport;
    must(sbn_group_create(&config, &made), "sbn_group_create");
    return made;
}

static sbn_batchnorm_config of_layer(void)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = CHANNELS;
    return config;
}

static void check_average(sbn_group *group, sbn_average average, double momentum, const char *what)
{
    sbn_batchnorm_config config = of_layer();
    sbn_batchnorm *layer;
    sbn_saved *saved;
    config.average = average;
    config.momentum = momentum;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    moments expected = {{0}, {1, 1, 1}};
    float mean[CHANNELS], var[CHANNELS];
    int64_t tracked;
    for (int b = 0; b < BATCHES; ++b) {
        slice s;
        slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 40u + (unsigned)b);
        const moments batch = moments_of(40u + (unsigned)b);
        const double w = average == SBN_AVERAGE_CUMULATIVE ? 1.0 / (b + 1) : momentum;
        for (size_t c = 0; c < CHANNELS; ++c) {
            expected.mean[c] += w * (batch.mean[c] - expected.mean[c]);
            expected.unbiased[c] += w * (batch.unbiased[c] - expected.unbiased[c]);
        }
        must(sbn_forward(layer, &s.shard, saved, 0, NULL), "sbn_forward");
        must(sbn_batchnorm_running_stats(layer, mean, var, &tracked), "get");
        /* A float's rounding for each batch, and the sum's own. */
        const double off = fmax(distance(mean, expected.mean), distance(var, expected.unbiased));
        tap_ok(off <= 2.0 * (b + 1) && tracked == b + 1,
               "%s: batch %d: %.2f of at most %d units off, %d tracked", what, b, off, 2 * (b + 1),
               (int)tracked);
        slice_close(&s);
    }
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
}

static uint64_t digest_running(const sbn_batchnorm *layer)
{
    float values[2][CHANNELS];
    int64_t tracked;
    must(sbn_batchnorm_running_stats(layer, values[0], values[1], &tracked), "get");
    return digest_of(digest_of(DIGEST_START, values, sizeof values), &tracked, sizeof tracked);
}

static int holds(const slice *s, const sbn_buffer *buffer, float value)
{
    float got[CHANNELS];
    int same = 1;
    buffer_read(s, buffer, CHANNELS, got);
    for (size_t c = 0; c < CHANNELS; ++c)
        same = same && got[c] == value;
    return same;
}

/* No samples, then no positions: nothing changes, and gradients are zeros. */
static void check_empty(sbn_group *group)
{
    const sbn_batchnorm_config config = of_layer();
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice s;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 50);
    const uint64_t running = digest_running(layer);
    for (int i = 0; i < 2; ++i) {
        sbn_shard none = s.shard;
        cl_event event = NULL;
        sbn_result result = SBN_RESULT_INIT;
        uint64_t count = 77;
        none.shape[i ? 2 : 0] = 0;
        none.event = &event;
        none.wait_list = &event; /* of no events: OpenCL alone would refuse the pair */
        none.x.mem = none.y.mem = i ? NULL : none.x.mem;
        slice_reset(&s);
        expect(sbn_forward(layer, &none, saved, 0, &result), SBN_SUCCESS, "", "an empty batch");
        must(sbn_saved_stats(saved, NULL, NULL, &count), "sbn_saved_stats");
        tap_ok(result.count == 0 && count == 0 && result.synchronised, "it has no values");
        tap_ok(digest_running(layer) == running && slice_untouched(&s), "nothing has changed");
        tap_ok(event && clWaitForEvents(1, &event) == CL_SUCCESS, "its event completes");
        clReleaseEvent(event);
        expect(sbn_backward(layer, &none, saved, 0, &result), SBN_SUCCESS, "", "its backward");
        tap_ok(event && clWaitForEvents(1, &event) == CL_SUCCESS, "its event completes");
        clReleaseEvent(event);
        tap_ok(holds(&s, &s.shard.weight_grad, 0.0f) && holds(&s, &s.shard.bias_grad, 0.0f),
               "its gradients are zeros");
        slice_reset(&s);
        must(sbn_backward(layer, &none, saved, SBN_ACCUMULATE_GRADIENTS, NULL), "sbn_backward");
        tap_ok(slice_untouched(&s), "zeros are added where gradients accumulate");
        must(clReleaseEvent(event), "clReleaseEvent");
        expect(sbn_evaluate(layer, &none), SBN_SUCCESS, "", "evaluation of an empty batch");
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    slice_close(&s);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
}

/* A transport that only counts. */
static int starts;

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)context, (void)tag, (void)words, (void)count, (void)request;
    ++starts;
    return -1;
}

static int test(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    return -1;
}

/* By the running mean and variance that were set, on a rank whose others never come. */
static void check_evaluation(void)
{
    const sbn_transport table = {.size = sizeof table,
                                 .world_size = 2,
                                 .start = start,
                                 .test = test};
    const float mean[CHANNELS] = {0.5f, -1.0f, 2.0f}, var[CHANNELS] = {4.0f, 0.25f, 1.0f};
    sbn_group *group = make_group(&table);
    sbn_batchnorm_config config = of_layer();
    sbn_batchnorm *layer;
    slice s;
    static float y[SAMPLES * CHANNELS * PLANE];
    config.eps = 0.0;
    config.affine = 0;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 51);
    for (int i = 0; i < 2; ++i) {
        if (i > 0)
            must(sbn_batchnorm_set_running_stats(layer, mean, var, NULL), "set");
        expect(sbn_evaluate(layer, &s.shard), SBN_SUCCESS, "", "evaluation");
        buffer_read(&s, &s.shard.y, s.elements, y);
        int same = 1;
        for (size_t k = 0; k < s.elements; ++k) {
            const size_t c = k / PLANE % CHANNELS;
            const float x = batch_x(51, k / PLANE / CHANNELS, c, k % PLANE);
            /* Standard deviations are powers of two: one rounding, of x - mean. */
            same = same && y[k] == (i ? (x - mean[c]) / sqrtf(var[c]) : x);
        }
        tap_ok(same, i ? "by the statistics that were set" : "by mean 0 and variance 1");
    }
    tap_ok(starts == 0, "evaluation by running statistics has not communicated");
    slice_close(&s);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
}

static int evaluate_untracked(test_rank *m)
{
    sbn_batchnorm_config config = of_layer();
    sbn_batchnorm *layer;
    config.track_running_stats = 0;
    must(sbn_batchnorm_create(m->group, &config, &layer), "sbn_batchnorm_create");
    rank_says(m, sbn_evaluate(layer, m->shards));
    clFinish(m->queue);
    sbn_batchnorm_destroy(layer);
    return m->status;
}

/* Evaluation by batch statistics: the same bits from two threads as from one group. */
static void check_untracked(void)
{
    const size_t two[] = {2}, ones[] = {1, 1}, samples[] = {1, 3};
    test_ranks all;
    uint64_t digests[2];
    for (int i = 0; i < 2; ++i) {
        ranks_open(&all, &device, 1 + i, i ? ones : two, samples, NULL);
        ranks_do(&all, evaluate_untracked);
        for (int rank = 0; rank <= i; ++rank)
            rank_expect(&all.of[rank], SBN_SUCCESS, "", "evaluation by batch statistics");
        digests[i] = ranks_digest(&all);
        tap_ok(!slice_untouched(&all.of[i].slices[0]), "it has written y");
        ranks_close(&all);
    }
    tap_ok(digests[0] == digests[1], "evaluation by batch statistics is synchronised");
}

static void checks(void)
{
    sbn_group *group = make_group(NULL);
    check_average(group, SBN_AVERAGE_MOMENTUM, 0.1, "momentum 0.1");
    check_average(group, SBN_AVERAGE_MOMENTUM, 0.0, "momentum 0");
    check_average(group, SBN_AVERAGE_MOMENTUM, 1.0, "momentum 1");
    check_average(group, SBN_AVERAGE_CUMULATIVE, 0.1, "cumulative");
    check_empty(group);
    check_evaluation();
    check_untracked();
    sbn_group_destroy(group);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
