/*
 * What is refused of a pass's buffers, in memory of the host, too; with from_output also weights that y could not be
 * divided by. After a refusal everything is as before.
 */
#include <math.h>
#include <stdio.h>

#include "group/group.h"
#include "support/stage.h"

/* What an operation's second replica does not need. */
#define GOOD(operation, field, value) OF(operation, shards[1].field, value, "")

static void check_buffers(cl_mem abroad)
{
    const sbn_shard *const good = &stage.right.shards[1];
    const sbn_buffer behind = {good->x.mem, good->x.offset + 3}, before = {good->x.mem, 4},
                     behind_dy = {good->dy.mem, good->dy.offset + 1};
    cl_mem const no_buffer = (cl_mem)stage.group;
    const refusal rows[] = {
        ROW(shards[1].dy_pitch, 1, NULL),
        ROW(shards[1].dx_pitch, 1, NULL),
        GOOD(FORWARD, residual.mem, no_buffer),
        ROW(shards[1].y_pitch, 1, NULL),
        GOOD(BACKWARD, residual_grad.mem, no_buffer),
        BAD(BACKWARD, dy_pitch, 1, "dy_pitch: expected 0 or at least"),
        BAD(FORWARD, x.mem, NULL, "^forward of layer|x: expected a buffer, got NULL"),
        BAD(FORWARD, y.mem, NULL, "y: expected a buffer"),
        BAD(FORWARD, weight.mem, NULL, "weight: expected a buffer"),
        BAD(FORWARD, bias.mem, NULL, "bias: expected a buffer"),
        BAD(FORWARD, x.mem, abroad, "x: expected a buffer of the queue's context"),
        BAD(FORWARD, x.offset, 9, "x: expected 42 floats from offset 9|7), got a buffer of 50"),
        BAD(FORWARD, y.offset, SIZE_MAX, "y: expected 42 floats|got a buffer of 50"),
        BAD(FORWARD, bias.offset, 9, "bias: expected 3 floats from offset 9|got a buffer of 11"),
        BAD(FORWARD, y.mem, good->x.mem, "y is written|overlap x"),
        BAD(FORWARD, y, behind, "y is written|overlap x"),
        BAD(BACKWARD, dy.mem, NULL, "dy: expected a buffer"),
        BAD(BACKWARD, dx.mem, abroad, "dx: expected a buffer of the queue's context"),
        BAD(BACKWARD, dx.offset, SIZE_MAX / 4, "dx: expected 42 floats"),
        BAD(BACKWARD, bias_grad.offset, 10,
            "bias_grad: expected 3 floats from offset 10|got a buffer of 11"),
        BAD(BACKWARD, dx, behind_dy, "dx is written|overlap dy"),
        BAD(BACKWARD, dx, good->x, "dx is written|overlap x"),
        ROW(shards[1].dx, good->dy, NULL),
        BAD(BACKWARD, x, good->dy, "dx is written|overlap x"),
        BAD(BACKWARD, bias_grad, good->weight_grad, "weight_grad is written|overlap bias_grad"),
        BAD(BACKWARD, weight_grad, good->weight, "weight_grad is written|overlap weight"),
        ROW(shards[1].x, good->y, NULL),
        BAD(EVALUATE, weight, good->y, "y is written and must not overlap weight"),
        BAD(EVALUATE, y, before, "y is written|overlap x"),
        BAD(EVALUATE, num_wait, 1, "wait_list: expected 1 events, got NULL"),
        BAD(RECOMPUTE, y.mem, NULL, "y: expected a buffer"),
    };
    REFUSE_PASS(stage.right, rows);
}

/* Sizes and offsets are in elements of the layer's type. */
static void check_types(void)
{
    sbn_batchnorm *halves = LAYER_WITH(stage.group, .channels = CHANNELS, .type = SBN_F16),
                  *bfloat16s = LAYER_WITH(stage.group, .channels = CHANNELS, .type = SBN_BF16);
    const refusal rows[] = {
        ROW(layer, halves, NULL),
        BAD(EVALUATE, x.offset, 59, "x: expected 42 halves from offset 59|got a buffer of 100"),
        ROW(layer, bfloat16s, NULL),
        BAD(EVALUATE, x.offset, 59, "x: expected 42 bfloat16s from offset 59|got a buffer of 100"),
    };
    REFUSE_PASS(stage.right, rows);
    must(sbn_batchnorm_destroy(halves), "sbn_batchnorm_destroy");
    must(sbn_batchnorm_destroy(bfloat16s), "sbn_batchnorm_destroy");
}

/* The residual and its gradient in the common buffer. */
static void check_residual(void)
{
    arguments a = stage.right;
    a.layer = LAYER_WITH(stage.group, .name = "adds", .channels = CHANNELS, .activation = SBN_RELU,
                         .residual = 1);
    a.saved = fixture_saved(a.layer);
    for (size_t r = 0; r < REPLICAS; ++r) {
        a.shards[r].residual = in_common(100 * r);
        a.shards[r].residual_grad = in_common(100 * r + 50);
    }
    const sbn_shard *const good = &a.shards[1];
    const sbn_buffer behind_dy = {good->dy.mem, good->dy.offset + 1}, view = in_common(300);
    const refusal rows[] = {
        BAD(FORWARD, residual.mem, NULL, "residual: expected a buffer, got NULL"),
        BAD(EVALUATE, residual.mem, NULL, "evaluation|residual: expected"),
        BAD(RECOMPUTE, residual.mem, NULL, "recomputation|residual: expected"),
        BAD(FORWARD, residual.offset, COMMON - 1, "residual: expected 42 floats from offset"),
        BAD(FORWARD, y, good->residual, "y is written and must not overlap residual"),
        ROW(shards[1].dx, good->dy, NULL),
        BAD(BACKWARD, residual_grad, good->dy, "dx is written and must not overlap residual_grad"),
        BAD(BACKWARD, residual_grad, behind_dy, "residual_grad"),
        BAD(BACKWARD, residual_grad, good->x, "residual_grad is written and must not overlap x"),
        /* It is dense: over dy where that is dense, too. */
        GOOD(BACKWARD, residual_grad, good->dy),
        ROW(shards[1].dy, view, NULL),
        ROW(shards[1].residual_grad, view, NULL),
        BAD(BACKWARD, dy_pitch, 2 * CHANNELS * PLANE,
            "residual_grad is written and must not overlap dy"),
    };
    must(sbn_forward(a.layer, a.shards, a.saved, 0, NULL), "sbn_forward");
    stage_reset();
    REFUSE_PASS(a, rows);
    fixture_end(a.layer, a.saved);
}

/* A shard's buffers of what the layer does not have are not looked at; x is, even if it is one element. */
static void check_unread(void)
{
    arguments a = stage.right;
    a.layer = LAYER_WITH(stage.group, .channels = 1, .affine = OFF, .activation = SBN_RELU,
                         .track_running_stats = OFF);
    a.saved = fixture_saved(a.layer);
    for (size_t r = 0; r < REPLICAS; ++r) {
        a.shards[r].weight.mem = a.shards[r].bias.mem = a.shards[r].weight_grad.mem =
            a.shards[r].bias_grad.mem = a.shards[r].running_mean.mem = (cl_mem)stage.group;
        a.shards[r].shape[0] = a.shards[r].shape[1] = a.shards[r].shape[2] = 1;
    }
    for (a.op = FORWARD; a.op < OPERATIONS; ++a.op)
        RIGHT(stage_pass(&a));
    a.op = FORWARD;
    a.shards[1].x.mem = NULL;
    REFUSED(stage_pass(&a), "replica 1: x: expected a buffer, got NULL");
    fixture_end(a.layer, a.saved);
}

/* Of one layer: a replica's running statistics are written, but where they are constants. */
static void check_running(void)
{
    arguments a = stage.right;
    for (size_t r = 0; r < REPLICAS; ++r) {
        a.shards[r].running_mean = in_common(10 * r);
        a.shards[r].running_var = in_common(10 * r + CHANNELS);
    }
    const refusal rows[] = {
        BAD(FORWARD, running_var.mem, NULL,
            "running_var: expected a buffer beside running_mean, got NULL"),
        BAD(FORWARD, running_mean.mem, NULL,
            "running_mean: expected a buffer beside running_var, got NULL"),
        BAD(FORWARD, running_var.offset, COMMON - 2, "running_var: expected 3 floats from offset"),
        BAD(FORWARD, running_var.offset, 12, "running_mean is written|not overlap running_var"),
        BAD(FORWARD, running_mean, a.shards[0].running_mean,
            "running_mean must not overlap running_mean of replica 0"),
        BAD(EVALUATE, running_var.offset, COMMON - 2, "running_var: expected 3 floats from offset"),
        BAD(EVALUATE, y, a.shards[1].running_mean, "y is written|not overlap running_mean"),
    };
    REFUSE_PASS(a, rows);
    const refusal shared[] = {ROW(shards[1].running_mean, a.shards[0].running_mean, "")};
    must(sbn_batchnorm_set_frozen(a.layer, 1), "sbn_batchnorm_set_frozen");
    REFUSE_PASS(a, shared);
    must(sbn_batchnorm_set_frozen(a.layer, 0), "sbn_batchnorm_set_frozen");
}

enum { TENSOR = SAMPLES / REPLICAS * CHANNELS * PLANE };

/* One element before each keeps them off the begin of a page. */
static float memory_of[REPLICAS][4][1 + TENSOR];

static uint64_t host_state(void)
{
    return sbn__digest(stage_state(), memory_of, sizeof memory_of);
}

static void check_host(void)
{
    arguments a = stage.right;
    sbn_replica *const replicas = stage.group->replicas;
    for (size_t r = 0; r < REPLICAS; ++r) {
        sbn_shard *s = &a.shards[r];
        sbn_buffer *const all[] = {&s->x, &s->y, &s->weight, &s->bias};
        s->memory = SBN_MEMORY_HOST;
        for (size_t i = 0; i < 4; ++i)
            *all[i] = (sbn_buffer){(cl_mem)memory_of[r][i], 1};
    }
    const sbn_shard *const first = &a.shards[0];
    const sbn_buffer odd = {(cl_mem)((char *)memory_of[0][1] + 2), 1};
    const sbn_buffer within_x = SBN_HOST_BUFFER(memory_of[0][0] + 3);
    const refusal rows[] = {
        ROW(shards[1].memory, (sbn_memory)2,
            "forward of layer \"first\", rank 0, replica 1: memory: expected an sbn_memory, got 2"),
        ROW(shards[0].x.mem, NULL, "replica 0: x: expected a buffer, got NULL"),
        ROW(shards[0].y, odd, "replica 0: y: expected an address that is a multiple of 4, got 0x"),
        ROW(shards[0].y, within_x, "replica 0: y is written and must not overlap x"),
        ROW(shards[1].y, within_x, "replica 1: y must not overlap x of replica 0"),
        ROW(shards[1].bias, first->bias, NULL),
        ROW(shards[1].weight, first->bias, ""),
    };
    REFUSE("memory of the host", stage_pass, a, host_state, rows);
    const refusal copied[] = {
        ROW(shards[0].y_pitch, CHANNELS * PLANE + 1,
            "replica 0: y: expected a dense tensor in memory of the host, which is copied for this "
            "device, got a view"),
        ROW(shards[0].x, first->y, NULL),
        ROW(shards[0].x_pitch, CHANNELS * PLANE + 1, NULL),
        ROW(shards[0].y_pitch, CHANNELS * PLANE + 1, NULL),
        ROW(op, EVALUATE, "evaluation of layer \"first\", rank 0, replica 0: y: expected a dense"),
    };
    const int before = replicas[0].host_memory;
    replicas[0].host_memory = replicas[1].host_memory = SBN_HOST_MEMORY_COPIED;
    REFUSE("a copy for the device", stage_pass, a, host_state, copied);
    replicas[0].host_memory = replicas[1].host_memory = before;
}

/* --- layers with from_output --- */

static sbn_batchnorm *make_inverting(const char *name, sbn_type type, sbn_activation activation)
{
    sbn_batchnorm_config got = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer = LAYER_WITH(stage.group, .name = name, .channels = CHANNELS, .type = type,
                                      .activation = activation, .from_output = 1);
    must(sbn_batchnorm_settings(layer, &got), "sbn_batchnorm_settings");
    tap_ok(got.from_output == 1 && got.activation == activation && got.slope == 0.01 &&
               got.name != name,
           "sbn_batchnorm_settings gives from_output, activation, slope and the layer's own name");
    return layer;
}

static void check_from_output(void)
{
    arguments a = stage.right;
    const sbn_shard *const other = &stage.right.shards[0], *const own = &stage.right.shards[1];
    const sbn_buffer behind_x = {own->x.mem, own->x.offset + 1};
    a.layer = make_inverting("inverts", SBN_F32, SBN_LEAKY_RELU);
    a.saved = fixture_saved(a.layer);
    const refusal forward[] = {
        ROW(shards[1].y, behind_x, "replica 1: y is written and must not overlap x"),
        ROW(shards[1].y, own->x, NULL),
        ROW(shards[1].y_pitch, CHANNELS * PLANE + 1, "replica 1: y"),
        ROW(shards[1].shape[0], 0, NULL),
        ROW(shards[1].weight.mem, NULL, ""),
    };
    REFUSE_PASS(a, forward);
    must(sbn_forward(a.layer, a.shards, a.saved, 0, NULL), "sbn_forward");
    a.shards[0].x = a.shards[1].x = (sbn_buffer)SBN_BUFFER_INIT;
    const refusal backward[] = {
        ROW(shards[1].y.mem, NULL,
            "backward of layer \"inverts\", rank 0, replica 1: y: expected a buffer, got NULL"),
        ROW(shards[1].dx, own->y, "replica 1: dx is written and must not overlap y"),
        ROW(shards[1].dx, other->y, "replica 1: dx must not overlap y of replica 0"),
        ROW(shards[1].bias.mem, NULL, "replica 1: bias: expected a buffer, got NULL"),
    };
    a.op = BACKWARD;
    REFUSE_PASS(a, backward);
    fixture_end(a.layer, a.saved);
}

typedef struct weight_case {
    sbn_type type;
    sbn_activation activation;
    float weight, bias;
    const char *words; /* "": it is accepted */
} weight_case;

#define WEIGHT "replica 1: weight: expected a magnitude from "
#define IN_2 " in channel 2, whose bias is "
static const weight_case weights[] = {
    {SBN_F32, SBN_IDENTITY, 0.0f, 1.0f, WEIGHT "9.53674316e-07" IN_2 "1,|got 0"},
    {SBN_F32, SBN_IDENTITY, -0.0f, 0.0f, WEIGHT "1.88079096e-37" IN_2 "0,|got -0"},
    {SBN_F32, SBN_IDENTITY, 0x1p-20f, 1.0f, ""},
    {SBN_F32, SBN_IDENTITY, 0x1.fffffep-21f, 1.0f, WEIGHT "9.53674316e-07 in channel 2"},
    {SBN_F32, SBN_IDENTITY, -1e-30f, 0.0f, ""},
    {SBN_F32, SBN_LEAKY_RELU, INFINITY, 0.0f, WEIGHT "|in channel 2|got inf"},
    {SBN_F32, SBN_LEAKY_RELU, NAN, 0.0f, WEIGHT "|in channel 2|got nan"},
    {SBN_F32, SBN_LEAKY_RELU, 1.0f, NAN, WEIGHT "nan" IN_2 "nan"},
    {SBN_F32, SBN_LEAKY_RELU, 1.0f, -INFINITY, WEIGHT "inf" IN_2 "-inf"},
    {SBN_F16, SBN_IDENTITY, 0x1.001p-6f, 2.0f, ""},
    {SBN_F16, SBN_IDENTITY, 0x1p-7f, 2.0f, WEIGHT "0.0156254768" IN_2 "2,|got 0.0078125"},
    {SBN_F16, SBN_IDENTITY, 1.0f, 128.0f, WEIGHT "1.00000048" IN_2 "128,|got 1"},
    {SBN_F16, SBN_IDENTITY, 0x1p-21f, 0.0f, ""},
    {SBN_F16, SBN_IDENTITY, 0x1p-22f, 0.0f, WEIGHT "4.76837158e-07"},
    {SBN_F16, SBN_LEAKY_RELU, 0x1p-15f, 0.0f, WEIGHT "4.76837169e-05"},
    {SBN_F16, SBN_LEAKY_RELU, 0x1p-14f, 0.0f, ""},
    {SBN_BF16, SBN_IDENTITY, -0.25f, -4.0f, ""},
    {SBN_BF16, SBN_IDENTITY, -0.25f, -4.5f, WEIGHT "0.28125" IN_2 "-4.5,|got -0.25"},
};

/* In the common buffer: the weights and biases of a shard, of which those of channel 2 are these. */
static void put(sbn_shard *shard, float weight, float bias)
{
    const float values[2 * CHANNELS] = {1.0f, 1.0f, weight, 0.0f, 0.0f, bias};
    shard->weight = in_common(0);
    shard->bias = in_common(CHANNELS);
    buffer_write(&stage.slices[0], &shard->weight, 2 * CHANNELS, values);
}

static void check_weight(const weight_case *w, int frozen)
{
    char what[96];
    arguments a = stage.right;
    sbn_shard put_in = a.shards[1];
    stage.watched = a.layer = make_inverting("inverts", w->type, w->activation);
    a.saved = fixture_saved(a.layer);
    must(sbn_batchnorm_set_frozen(a.layer, frozen), "sbn_batchnorm_set_frozen");
    put(&put_in, w->weight, w->bias);
    snprintf(what, sizeof what, "%sa weight of %g with a bias of %g", frozen ? "frozen, " : "",
             (double)w->weight, (double)w->bias);
    const refusal rows[] = {
        ROW(shards[1], put_in, w->words),
        ROW(shards[1], put_in, NULL),
        ROW(op, BACKWARD, *w->words ? "saved" : ""),
        ROW(shards[1], put_in, NULL),
        ROW(op, EVALUATE, ""),
    };
    REFUSE(what, stage_pass, a, stage_state, rows);
    stage.watched = stage.layer;
    fixture_end(a.layer, a.saved);
}

/* In the second of two layers: the first one's y is not written either. */
static void check_two_layers(void)
{
    two_layers good = {.back = 0};
    sbn_shard bad = stage.right.shards[0];
    for (size_t i = 0; i < 2; ++i) {
        sbn_batchnorm *layer = make_inverting(i ? "second" : "first", SBN_F32, SBN_IDENTITY);
        good.branches[i] = (sbn_branch){sizeof(sbn_branch), layer, NULL, fixture_saved(layer), 0};
    }
    for (size_t r = 0; r < REPLICAS; ++r) {
        good.shards[0][r] = good.shards[1][r] = stage.right.shards[r];
        good.shards[1][r].y = in_common(100 * (r + 1));
    }
    put(&bad, 0.0f, 0.0f);
    const refusal rows[] = {
        ROW_OF(two_layers, shards[1][0].weight, bad.weight,
               "branches[1]: forward of layer \"second\", rank 0, replica 0: "
               "weight: |in channel 2"),
    };
    stage.watched = good.branches[0].layer;
    REFUSE("two layers", stage_two_layers, good, stage_state, rows);
    stage.watched = stage.layer;
    for (size_t i = 0; i < 2; ++i)
        fixture_end(good.branches[i].layer, good.branches[i].saved);
}

void checks(void)
{
    fixture foreign;
    stage_open();
    must(fixture_open(&foreign), "another context");
    cl_mem abroad = fixture_buffer(&foreign, 4096, NULL);
    check_buffers(abroad);
    clReleaseMemObject(abroad);
    fixture_close(&foreign);
    check_types();
    check_residual();
    check_unread();
    check_running();
    check_host();
    check_from_output();
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i)
        check_weight(&weights[i], i % 2 == 1);
    check_two_layers();
    stage_close();
}
