/*
 * What is refused when passes are called: each refusal with its sentence, and
 * with nothing changed, neither statistics nor outputs nor gradients.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "handles.h"

enum { REPLICAS = 2, CHANNELS = 3, SAMPLES = 4, PLANE = 7 };

typedef enum operation { FORWARD, BACKWARD, EVALUATE, RECOMPUTE } operation;
static const char *const names[] = {"forward", "backward", "evaluation", "recomputation"};

static fixture device, foreign;
static cl_command_queue queue;
static sbn_group *group;
static sbn_batchnorm *layer, *other;
static sbn_saved *saved, *empty, *others;
static slice slices[REPLICAS];
static sbn_share good[REPLICAS];

static int call(operation op, sbn_batchnorm *of, const sbn_share *shares, sbn_saved *with,
                unsigned flags)
{
    switch (op) {
    case FORWARD: return sbn_forward(of, shares, with, flags, NULL);
    case BACKWARD: return sbn_backward(of, shares, with, flags, NULL);
    case EVALUATE: return sbn_evaluate(of, shares);
    default: return sbn_recompute(of, shares, with);
    }
}

/* All that a pass may change, but for the outputs. */
static uint64_t state(void)
{
    float values[4][CHANNELS];
    int64_t batches;
    uint64_t count;
    must(sbn_batchnorm_get_running_stats(layer, values[0], values[1], &batches), "running");
    must(sbn_saved_get(saved, values[2], values[3], &count), "saved");
    uint64_t digest = digest_of(DIGEST_START, values, sizeof values);
    digest = digest_of(digest, &batches, sizeof batches);
    return digest_of(digest, &count, sizeof count);
}

static void refused(operation op, sbn_batchnorm *of, const sbn_share *shares, sbn_saved *with,
                    unsigned flags, int status, const char *words, const char *what)
{
    char name[256];
    const uint64_t before = state();
    snprintf(name, sizeof name, "%s: %s", names[op], what);
    expect(call(op, of, shares, with, flags), status, words, name);
    tap_ok(state() == before && slice_untouched(&slices[0]) && slice_untouched(&slices[1]),
           "%s: nothing has changed", name);
}

#define BAD(op, field, value, words) \
    do { \
        sbn_share bad[REPLICAS]; \
        memcpy(bad, good, sizeof bad); \
        bad[1].field = value; \
        refused(op, layer, bad, saved, 0, SBN_INVALID_ARGUMENT, "replica 1|" words, \
                #field " = " #value); \
    } while (0)

static void check_shapes(void)
{
    BAD(FORWARD, dims, 1, "layer \"first\"|dims|2 to 5|1 came");
    BAD(FORWARD, dims, 6, "dims|6 came");
    BAD(BACKWARD, dims, -1, "dims|-1 came");
    BAD(FORWARD, shape[1], 4, "shape: 3 channels were expected, 4 came|(2,4,7)");
    BAD(BACKWARD, shape[1], 2, "shape: 3 channels|2 came");
    BAD(EVALUATE, shape[1], 4, "evaluation|3 channels|4 came");
    BAD(RECOMPUTE, shape[1], 4, "recomputation|3 channels|4 came");
    BAD(FORWARD, shape[2], SIZE_MAX, "too large|overflow");
    BAD(FORWARD, shape[0], SIZE_MAX / 2, "too large|overflow");
    BAD(FORWARD, shape[2], (size_t)1 << 31, "too large|2147483648");
    BAD(FORWARD, shape[2], ((size_t)1 << 31) - 1, "x: |floats|holds");
    BAD(FORWARD, shape[0], 4, "x: 84 floats from offset 5|(4,3,7)|holds 50");
    BAD(BACKWARD, shape[0], 1, "2 samples of 7 positions|1 of 7 came");
    BAD(BACKWARD, shape[2], 5, "2 samples of 7 positions|2 of 5 came");
    BAD(RECOMPUTE, shape[2], 5, "2 samples of 7 positions|2 of 5 came");
}

static void check_buffers(cl_mem abroad)
{
    BAD(FORWARD, x.mem, NULL, "x: a buffer was expected, NULL came");
    BAD(FORWARD, y.mem, NULL, "y: a buffer");
    BAD(FORWARD, weight.mem, NULL, "weight: a buffer");
    BAD(FORWARD, bias.mem, NULL, "bias: a buffer");
    BAD(BACKWARD, dy.mem, NULL, "dy: a buffer");
    BAD(EVALUATE, x.mem, NULL, "x: a buffer");
    BAD(RECOMPUTE, y.mem, NULL, "y: a buffer");
    BAD(FORWARD, x.mem, abroad, "x: a buffer of the queue's context was expected");
    BAD(FORWARD, y.mem, abroad, "y: a buffer of the queue's context was expected");
    BAD(BACKWARD, dx.mem, abroad, "dx: a buffer of the queue's context");
    BAD(BACKWARD, weight_grad.mem, abroad, "weight_grad: a buffer of the queue's context");
    BAD(EVALUATE, bias.mem, abroad, "bias: a buffer of the queue's context");
    BAD(FORWARD, x.offset, 9, "x: 42 floats from offset 9 were expected|holds 50");
    BAD(FORWARD, y.offset, SIZE_MAX, "y: 42 floats|holds 50");
    BAD(FORWARD, bias.offset, 9, "bias: 3 floats from offset 9|holds 11");
    BAD(BACKWARD, dx.offset, SIZE_MAX / 4, "dx: 42 floats");
    BAD(BACKWARD, bias_grad.offset, 10, "bias_grad: 3 floats from offset 10|holds 11");
    BAD(FORWARD, y.mem, good[1].x.mem, "y is written|overlap x");
    BAD(FORWARD, y, ((sbn_buffer){good[1].x.mem, 8}), "y is written|overlap x");
    BAD(FORWARD, x, good[1].y, "y is written|overlap x");
    BAD(BACKWARD, dx, good[1].dy, "dx is written|overlap dy");
    BAD(BACKWARD, dx, good[1].x, "dx is written|overlap x");
    BAD(BACKWARD, bias_grad, good[1].weight_grad, "weight_grad is written|overlap bias_grad");
    BAD(BACKWARD, weight_grad, good[1].weight, "weight_grad is written|overlap weight");
    BAD(EVALUATE, y, good[1].x, "y is written|overlap x");
    BAD(FORWARD, num_wait, 2, "wait_list: 2 events were expected, NULL came");
    BAD(EVALUATE, num_wait, 1, "wait_list: 1 events");
}

/* Elsewhere a caller's mistake reads memory that is not an object: PoCL tells, where it can. */
static void check_handles(void)
{
    sbn_saved *const no_saved = (sbn_saved *)layer;
    sbn_batchnorm *const no_layer = (sbn_batchnorm *)group;
    refused(FORWARD, NULL, good, saved, 0, SBN_INVALID_ARGUMENT, "layer|NULL came", "NULL layer");
    refused(FORWARD, no_layer, good, saved, 0, SBN_INVALID_ARGUMENT, "layer|another came",
            "group as layer");
    refused(EVALUATE, no_layer, good, NULL, 0, SBN_INVALID_ARGUMENT, "layer|another",
            "group as layer");
    for (operation op = FORWARD; op <= RECOMPUTE; ++op) {
        if (op == EVALUATE)
            continue;
        refused(op, layer, good, NULL, 0, SBN_INVALID_ARGUMENT, "saved|NULL came", "NULL saved");
        refused(op, layer, good, no_saved, 0, SBN_INVALID_ARGUMENT, "saved|another came",
                "layer as saved");
        refused(op, layer, good, others, 0, SBN_INVALID_ARGUMENT, "saved|\"first\"|another layer's",
                "saved of another layer");
        if (op != FORWARD)
            refused(op, layer, good, empty, 0, SBN_INVALID_ARGUMENT, "saved|no forward",
                    "saved that nothing has filled");
    }
    for (operation op = FORWARD; op <= RECOMPUTE; ++op)
        refused(op, layer, NULL, saved, 0, SBN_INVALID_ARGUMENT,
                "shares: 2 were expected, NULL came", "NULL shares");
    refused(FORWARD, layer, good, saved, 2, SBN_INVALID_ARGUMENT,
            "flags|SBN_KEEP_RUNNING_STATS|0x2", "a backward's flag");
    refused(FORWARD, layer, good, saved, 8, SBN_INVALID_ARGUMENT, "flags|0x8 came", "unknown flag");
    refused(BACKWARD, layer, good, saved, 1, SBN_INVALID_ARGUMENT, "flags|0x1 came",
            "a forward's flag");
    refused(BACKWARD, layer, good, saved, 0x80000006, SBN_INVALID_ARGUMENT, "flags|0x80000006 came",
            "unknown flag");
    expect(sbn_forward_begin(layer, good, saved, 0, NULL), SBN_INVALID_ARGUMENT, "pass|NULL came",
           "no place for the pass");
    expect(sbn_backward_begin(layer, good, saved, 0, NULL), SBN_INVALID_ARGUMENT, "pass|NULL came",
           "no place for the pass");
}

/* A wrong result is noticed before anything is done; in end it is too late, and all is done. */
static void check_results(void)
{
    sbn_result result = {sizeof result - 1, 77, 5, 5};
    const uint64_t before = state();
    expect(sbn_forward(layer, good, saved, 0, &result), SBN_INVALID_ARGUMENT, "result: size|came",
           "forward: a result of another size");
    tap_ok(state() == before && slice_untouched(&slices[0]), "nothing has changed");
    expect(sbn_backward(layer, good, saved, 0, &result), SBN_INVALID_ARGUMENT, "result: size|came",
           "backward: a result of another size");
    tap_ok(state() == before && slice_untouched(&slices[0]), "nothing has changed");
    sbn_pass *pass;
    must(sbn_forward_begin(layer, good, saved, SBN_KEEP_RUNNING_STATS, &pass), "begin");
    expect(sbn_pass_end(pass, &result), SBN_INVALID_ARGUMENT, "result: size|came",
           "end: a result of another size");
    tap_ok(!slice_untouched(&slices[0]) && result.count == 77,
           "the pass has ended nevertheless, the result is untouched");
    expect(sbn_pass_end(pass, NULL), SBN_INVALID_ARGUMENT, "pass|ended", "end: a pass twice");
    int ready = 7;
    expect(sbn_pass_progress(pass, &ready), SBN_INVALID_ARGUMENT, "pass|ended",
           "progress of an ended pass");
    tap_ok(ready == 7, "ready is untouched");
    slice_reset(&slices[0]);
    slice_reset(&slices[1]);
}

static void check_passes_under_way(void)
{
    sbn_pass *filling, *reading, *refused_pass = (sbn_pass *)&refused_pass;
    cl_event event = (cl_event)&event;
    sbn_share with_event[REPLICAS];
    memcpy(with_event, good, sizeof good);
    with_event[0].event = &event;
    must(sbn_forward_begin(layer, good, empty, SBN_KEEP_RUNNING_STATS, &filling), "begin");
    expect(sbn_forward_begin(layer, with_event, empty, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "saved|1 passes under way", "forward into saved that is being filled");
    tap_ok(!refused_pass && !event, "the pass and the event are NULL");
    expect(sbn_backward_begin(layer, good, empty, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "saved|not ended", "backward from saved that is being filled");
    expect(sbn_recompute(layer, good, empty), SBN_INVALID_ARGUMENT, "saved|not ended",
           "recomputation from saved that is being filled");
    must(sbn_pass_end(filling, NULL), "end");
    must(sbn_backward_begin(layer, good, empty, 0, &reading), "begin");
    expect(sbn_forward_begin(layer, good, empty, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "saved|1 passes under way", "forward into saved that a backward reads");
    must(sbn_pass_end(reading, NULL), "end");

    sbn_pass *passes[SBN_MAX_PASSES];
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_backward_begin(layer, good, saved, 0, &passes[i]), "begin");
    expect(sbn_backward_begin(layer, good, saved, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "at most 64 passes", "one pass too many");
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_pass_end(passes[i], NULL), "end");
    slice_reset(&slices[0]);
    slice_reset(&slices[1]);
}

/* One value per channel in all: refused in training, legal in evaluation of an untracked layer. */
static void check_too_few(sbn_batchnorm *untracked)
{
    sbn_share one[REPLICAS];
    memcpy(one, good, sizeof one);
    one[0].shape[0] = 1;
    one[0].shape[2] = 1;
    one[1].shape[0] = 0;
    refused(FORWARD, layer, one, saved, 0, SBN_TOO_FEW_VALUES,
            "forward|\"first\"|more than 1 value per channel|1 came", "one value per channel");
    one[1].shape[2] = 1;
    expect(sbn_evaluate(untracked, one), SBN_SUCCESS, "",
           "evaluation of one value per channel without running statistics");
    float y[CHANNELS], bias[CHANNELS];
    buffer_read(&slices[0], &one[0].y, CHANNELS, y);
    buffer_read(&slices[0], &one[0].bias, CHANNELS, bias);
    tap_ok(memcmp(y, bias, sizeof y) == 0, "its output is the bias");
    slice_reset(&slices[0]);
}

static void open_all(void)
{
    cl_command_queue queues[REPLICAS];
    queue = queues[0] = queues[1] = fixture_queue(&device, 0);
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = queues;
    config.replicas = REPLICAS;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    of_layer.channels = CHANNELS;
    of_layer.name = "first";
    must(sbn_batchnorm_create(group, &of_layer, &layer), "sbn_batchnorm_create");
    of_layer.name = "second";
    of_layer.track_running_stats = 0;
    must(sbn_batchnorm_create(group, &of_layer, &other), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    must(sbn_saved_create(layer, &empty), "sbn_saved_create");
    must(sbn_saved_create(other, &others), "sbn_saved_create");
    for (size_t r = 0; r < REPLICAS; ++r) {
        slice_open(&slices[r], &device, queue, 2 * r, SAMPLES / REPLICAS, CHANNELS, PLANE, 1);
        good[r] = slices[r].share;
    }
}

int main(void)
{
    if (fixture_open(&device) || fixture_open(&foreign))
        return fixture_missing();
    const long at_start = sbn_handles_open();
    open_all();
    must(sbn_forward(layer, good, saved, 0, NULL), "sbn_forward");
    must(sbn_forward(other, good, others, 0, NULL), "sbn_forward");
    slice_reset(&slices[0]);
    slice_reset(&slices[1]);
    cl_int code;
    cl_mem abroad = clCreateBuffer(foreign.context, CL_MEM_READ_WRITE, 4096, NULL, &code);
    must(code, "clCreateBuffer");
    check_shapes();
    check_buffers(abroad);
    check_handles();
    check_results();
    check_too_few(other);
    check_passes_under_way();
    for (operation op = FORWARD; op <= RECOMPUTE; ++op)
        expect(call(op, layer, good, saved, 0), SBN_SUCCESS, "", names[op]);
    tap_ok(!slice_untouched(&slices[1]), "the same group works");
    clReleaseMemObject(abroad);
    for (size_t r = 0; r < REPLICAS; ++r)
        slice_close(&slices[r]);
    sbn_saved_destroy(saved);
    sbn_saved_destroy(empty);
    sbn_saved_destroy(others);
    sbn_batchnorm_destroy(layer);
    sbn_batchnorm_destroy(other);
    sbn_group_destroy(group);
    tap_ok(sbn_handles_open() == at_start, "no handle is left open");
    clReleaseCommandQueue(queue);
    fixture_close(&foreign);
    fixture_close(&device);
    return tap_done();
}
