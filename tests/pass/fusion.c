/*
 * What layers with an activation or a residual read of their shards, and keep; and that folding knows
 * what is fused. Values and bits: tests/inputs/fusions, tests/pass/same.
 */
#include "support/refused.h"

enum { SAMPLES = 3, CHANNELS = 5, PLANE = 35, ELEMENTS = SAMPLES * CHANNELS * PLANE };

static fixture device;
static cl_command_queue queue;
static sbn_group *group;
static slice at;
static sbn_buffer residual, residual_grad;

static sbn_batchnorm *make_layer(const char *name, sbn_activation activation, int adds)
{
    return LAYER_WITH(group, .name = name, .channels = CHANNELS, .activation = activation,
                      .residual = adds);
}

static sbn_shard good_shard(void)
{
    sbn_shard shard = at.shard;
    shard.residual = residual;
    shard.residual_grad = residual_grad;
    return shard;
}

static uint64_t outputs(uint64_t digest)
{
    return digest_buffer(digest_slice(digest, &at), &at, &residual_grad, ELEMENTS);
}

static void clear(void)
{
    slice_reset(&at);
    buffer_fill(&at, &residual_grad, ELEMENTS, PATTERN);
}

static uint64_t pass(sbn_batchnorm *layer, sbn_saved *saved)
{
    const sbn_shard shard = good_shard();
    clear();
    must(sbn_forward(layer, &shard, saved, 0, NULL), "sbn_forward");
    must(sbn_backward(layer, &shard, saved, 0, NULL), "sbn_backward");
    return outputs(SBN_DIGEST_START);
}

/* A layer without a residual does not look at one. */
static void check_no_residual(void)
{
    sbn_batchnorm *layer = make_layer("plain", SBN_IDENTITY, 0);
    sbn_saved *saved = fixture_saved(layer);
    const uint64_t as_it_is = pass(layer, saved);
    sbn_shard odd = good_shard();
    odd.residual.mem = odd.residual_grad.mem = (cl_mem)&odd;
    clear();
    RIGHT(sbn_forward(layer, &odd, saved, 0, NULL));
    RIGHT(sbn_backward(layer, &odd, saved, 0, NULL));
    tap_ok(outputs(SBN_DIGEST_START) == as_it_is, "the bits of the layer without");
    fixture_end(layer, saved);
}

/* What the backward pass reads to know the sign of z: x and the bias, or the mask that a residual leaves. */
static void check_sign(void)
{
    sbn_batchnorm *relu = make_layer("relu", SBN_RELU, 0), *adds = make_layer("adds", SBN_RELU, 1);
    sbn_saved *saved = fixture_saved(relu), *masked = fixture_saved(adds);
    sbn_shard bad = good_shard();
    pass(relu, saved);
    bad.bias.mem = NULL;
    REFUSED(sbn_backward(relu, &bad, saved, 0, NULL),
            "backward of layer \"relu\"|bias: expected a buffer, got NULL");
    pass(adds, masked);
    RIGHT(sbn_backward(adds, &bad, masked, 0, NULL));
    must(sbn_batchnorm_set_frozen(relu, 1), "sbn_batchnorm_set_frozen");
    must(sbn_batchnorm_set_frozen(adds, 1), "sbn_batchnorm_set_frozen");
    pass(relu, saved);
    pass(adds, masked);
    bad = good_shard();
    bad.weight_grad.mem = bad.bias_grad.mem = NULL;
    clear();
    must(sbn_backward(adds, &bad, masked, 0, NULL), "sbn_backward");
    const uint64_t with_x = digest_buffer(SBN_DIGEST_START, &at, &bad.dx, ELEMENTS);
    clear();
    bad.x.mem = NULL;
    REFUSED(sbn_backward(relu, &bad, saved, 0, NULL),
            "frozen backward|x: expected a buffer, got NULL");
    RIGHT(sbn_backward(adds, &bad, masked, 0, NULL));
    tap_ok(digest_buffer(SBN_DIGEST_START, &at, &bad.dx, ELEMENTS) == with_x, "the same dx");
    fixture_end(relu, saved);
    fixture_end(adds, masked);
}

/* A forward pass that is refused leaves the mask, also where it would have needed a larger one. */
static void check_mask(void)
{
    sbn_batchnorm *layer = make_layer("adds", SBN_LEAKY_RELU, 1);
    sbn_saved *saved = fixture_saved(layer);
    sbn_shard small = good_shard(), large = good_shard();
    small.shape[0] = 1;
    clear();
    must(sbn_forward(layer, &small, saved, 0, NULL), "sbn_forward");
    must(sbn_backward(layer, &small, saved, 0, NULL), "sbn_backward");
    const uint64_t before = outputs(SBN_DIGEST_START);
    const sbn_branch branches[] = {
        {sizeof *branches, layer, &large, saved, 0},
        {sizeof *branches, layer, &large, NULL, 0},
    };
    REFUSED(sbn_forward_branches(branches, 2, NULL), "branches[1]|saved");
    buffer_fill(&at, &at.shard.dx, ELEMENTS, PATTERN);
    must(sbn_backward(layer, &small, saved, 0, NULL), "sbn_backward");
    tap_ok(outputs(SBN_DIGEST_START) == before, "the first layer's mask is what it was");
    const uint64_t again = pass(layer, saved);
    sbn_saved *fresh = fixture_saved(layer);
    tap_ok(pass(layer, fresh) == again, "a mask that has grown serves as a new one");
    must(sbn_saved_destroy(fresh), "sbn_saved_destroy");
    fixture_end(layer, saved);
}

static uint64_t fold(sbn_batchnorm *layer)
{
    sbn_folding folding = SBN_FOLDING_INIT;
    folding.outer = SAMPLES;
    folding.inner = PLANE;
    folding.weight = at.shard.x;
    folding.bias = folding.norm_bias = at.shard.bias;
    folding.norm_weight = at.shard.weight;
    folding.folded_weight = at.shard.y;
    folding.folded_bias = at.shard.bias_grad;
    clear();
    must(sbn_batchnorm_fold(layer, &folding), "sbn_batchnorm_fold");
    return outputs(SBN_DIGEST_START);
}

static void check_folding(void)
{
    sbn_batchnorm *plain = make_layer("plain", SBN_IDENTITY, 0);
    sbn_batchnorm *relu = make_layer("relu", SBN_RELU, 0), *adds = make_layer("adds", SBN_RELU, 1);
    const sbn_folding any = SBN_FOLDING_INIT;
    tap_ok(fold(plain) == fold(relu), "a ReLU stays behind a folded layer");
    REFUSED(sbn_batchnorm_fold(adds, &any), "layer \"adds\"|residual|not folded");
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_settings(adds, &config), "sbn_batchnorm_settings");
    tap_ok(config.activation == SBN_RELU && config.slope == 0.01 && config.residual == 1,
           "a layer's settings");
    must(sbn_batchnorm_destroy(plain), "sbn_batchnorm_destroy");
    must(sbn_batchnorm_destroy(relu), "sbn_batchnorm_destroy");
    must(sbn_batchnorm_destroy(adds), "sbn_batchnorm_destroy");
}

static void checks(void)
{
    float values[ELEMENTS];
    group = fixture_group(queue, 1, SBN_FORM_AUTO);
    slice_open(&at, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    for (size_t i = 0; i < ELEMENTS; ++i)
        values[i] = batch_dy(9, i % 7, i % 3, i);
    residual = buffer_of(&device, queue, values, ELEMENTS);
    residual_grad = buffer_of(&device, queue, NULL, ELEMENTS);
    check_no_residual();
    check_sign();
    check_mask();
    check_folding();
    clReleaseMemObject(residual.mem);
    clReleaseMemObject(residual_grad.mem);
    slice_close(&at);
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
