/*
 * What layers with from_output refuse of a pass: shards, and weights that y could not be divided
 * by, in one layer and in the second of two. After a refusal everything is as before.
 */
#include <math.h>
#include <stdio.h>

#include "support/stage.h"

static sbn_batchnorm *make_layer(const char *name, sbn_type type, sbn_activation activation)
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

#define BAD(field, value, words) ROW(shards[1].field, value, words)

static void check_shards(void)
{
    arguments a = stage.right;
    const sbn_shard *const other = &stage.right.shards[0], *const own = &stage.right.shards[1];
    const sbn_buffer behind_x = {own->x.mem, own->x.offset + 1};
    a.layer = make_layer("inverts", SBN_F32, SBN_LEAKY_RELU);
    a.saved = fixture_saved(a.layer);
    const refusal forward[] = {
        BAD(y, behind_x, "replica 1: y is written and must not overlap x"),
        BAD(y, own->x, NULL),
        BAD(y_pitch, CHANNELS * PLANE + 1, "replica 1: y"),
    };
    REFUSE_PASS(a, forward);
    must(sbn_forward(a.layer, a.shards, a.saved, 0, NULL), "sbn_forward");
    a.shards[0].x = a.shards[1].x = (sbn_buffer)SBN_BUFFER_INIT;
    const refusal backward[] = {
        BAD(y.mem, NULL,
            "backward of layer \"inverts\", rank 0, replica 1: y: expected a buffer, got NULL"),
        BAD(dx, own->y, "replica 1: dx is written and must not overlap y"),
        BAD(dx, other->y, "replica 1: dx must not overlap y of replica 0"),
        BAD(bias.mem, NULL, "replica 1: bias: expected a buffer, got NULL"),
    };
    a.op = BACKWARD;
    REFUSE_PASS(a, backward);
    fixture_end(a.layer, a.saved);
}

/* --- weights --- */

typedef struct weight_case {
    sbn_type type;
    sbn_activation activation;
    float weight, bias;
    const char *words; /* "": it is accepted */
} weight_case;

#define WEIGHT "replica 1: weight: expected a magnitude from "
static const weight_case weights[] = {
    {SBN_F32, SBN_IDENTITY, 0.0f, 1.0f, WEIGHT "9.54e-07 in channel 2, whose bias is 1,|got 0"},
    {SBN_F32, SBN_IDENTITY, -0.0f, 0.0f, WEIGHT "1.88e-37 in channel 2, whose bias is 0,|got -0"},
    {SBN_F32, SBN_IDENTITY, 0x1p-20f, 1.0f, ""},
    {SBN_F32, SBN_IDENTITY, 0x1.fffffep-21f, 1.0f, WEIGHT "9.54e-07 in channel 2"},
    {SBN_F32, SBN_IDENTITY, -1e-30f, 0.0f, ""},
    {SBN_F32, SBN_LEAKY_RELU, INFINITY, 0.0f, WEIGHT "|in channel 2|got inf"},
    {SBN_F32, SBN_LEAKY_RELU, NAN, 0.0f, WEIGHT "|in channel 2|got nan"},
    {SBN_F32, SBN_LEAKY_RELU, 1.0f, NAN, WEIGHT "nan in channel 2, whose bias is nan"},
    {SBN_F32, SBN_LEAKY_RELU, 1.0f, -INFINITY, WEIGHT "inf in channel 2, whose bias is -inf"},
    {SBN_F16, SBN_IDENTITY, 0x1.001p-6f, 2.0f, ""},
    {SBN_F16, SBN_IDENTITY, 0x1p-7f, 2.0f,
     WEIGHT "0.0156 in channel 2, whose bias is 2,|got 0.0078125"},
    {SBN_F16, SBN_IDENTITY, 0x1p-21f, 0.0f, ""},
    {SBN_F16, SBN_IDENTITY, 0x1p-22f, 0.0f, WEIGHT "4.77e-07"},
    {SBN_F16, SBN_LEAKY_RELU, 0x1p-15f, 0.0f, WEIGHT "4.77e-05"},
    {SBN_F16, SBN_LEAKY_RELU, 0x1p-14f, 0.0f, ""},
    {SBN_BF16, SBN_IDENTITY, -0.25f, -4.0f, ""},
    {SBN_BF16, SBN_IDENTITY, -0.25f, -4.5f,
     WEIGHT "0.281 in channel 2, whose bias is -4.5,|got -0.25"},
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
    const int accepted = !*w->words;
    char what[96];
    arguments good = stage.right;
    stage.watched = good.layer = make_layer("inverts", w->type, w->activation);
    good.saved = fixture_saved(good.layer);
    must(sbn_batchnorm_set_frozen(good.layer, frozen), "sbn_batchnorm_set_frozen");
    arguments a = good;
    put(&a.shards[1], w->weight, w->bias);
    snprintf(what, sizeof what, "%sa weight of %g with a bias of %g", frozen ? "frozen, " : "",
             (double)w->weight, (double)w->bias);
    const uint64_t before = stage_state();
    expect(stage_pass(&a), accepted ? SBN_SUCCESS : SBN_INVALID_ARGUMENT, w->words, what);
    tap_ok(accepted || stage_state() == before, "%s: nothing has changed", what);
    a.op = BACKWARD;
    expect(stage_pass(&a), accepted ? SBN_SUCCESS : SBN_INVALID_ARGUMENT, accepted ? "" : "saved",
           "its backward pass");
    a.op = EVALUATE;
    expect(stage_pass(&a), SBN_SUCCESS, "", "evaluation accepts it");
    expect(stage_pass(&good), SBN_SUCCESS, "", "a good weight");
    stage.watched = stage.layer;
    fixture_end(good.layer, good.saved);
}

/* In the second of two layers: the first one's y is not written either. */
static void check_two_layers(void)
{
    two_layers good = {.back = 0};
    sbn_shard bad = stage.right.shards[0];
    for (size_t i = 0; i < 2; ++i) {
        sbn_batchnorm *layer = make_layer(i ? "second" : "first", SBN_F32, SBN_IDENTITY);
        good.branches[i] = (sbn_branch){sizeof(sbn_branch), layer, NULL, fixture_saved(layer), 0};
    }
    for (size_t r = 0; r < REPLICAS; ++r) {
        good.shards[0][r] = good.shards[1][r] = stage.right.shards[r];
        good.shards[1][r].y = in_common(100 * (r + 1));
    }
    put(&bad, 0.0f, 0.0f);
    const refusal rows[] = {
        ROW_OF(
            two_layers, shards[1][0].weight, bad.weight,
            "branches[1]: forward of layer \"second\", rank 0, replica 0: weight: |in channel 2"),
    };
    stage.watched = good.branches[0].layer;
    REFUSE("two layers", stage_two_layers, good, stage_state, rows);
    stage.watched = stage.layer;
    for (size_t i = 0; i < 2; ++i)
        fixture_end(good.branches[i].layer, good.branches[i].saved);
}

void checks(void)
{
    stage_open();
    check_shards();
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i)
        check_weight(&weights[i], i % 2 == 1);
    check_two_layers();
    stage_close();
}
