/*
 * Folding against PyTorch's float64: a convolution, one without bias before a layer without weight, a
 * dense layer, each in both orders of its weights; before layers of each type, on two replicas.
 */
#include <math.h>
#include <stdlib.h>

#include "support/main.h"
#include "support/refused.h"
#include "support/vectors.h"

enum { REPLICAS = 2 };

static sbn_group *group;
static sbn_tensor_file file;

static sbn_buffer load(const char *example, const char *name)
{
    size_t count = 0;
    float *values = vectors_get(&file, example, name, &count);
    const sbn_buffer made = values ? buffer_of(&device, queue, values, count)
                                   : (sbn_buffer){NULL, 0};
    free(values);
    return made;
}

static void release(const sbn_folding *f)
{
    const cl_mem all[] = {f->weight.mem,    f->bias.mem,          f->norm_weight.mem,
                          f->norm_bias.mem, f->folded_weight.mem, f->folded_bias.mem};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i])
            clReleaseMemObject(all[i]);
}

/* (channels, inner), or turned into (inner, channels). */
static float *get_weights(const char *example, const char *name, size_t channels, int turned,
                          size_t *count)
{
    float *values = vectors_get(&file, example, name, count);
    if (!turned)
        return values;
    const size_t inner = *count / channels;
    float *made = malloc(sizeof *made * *count);
    for (size_t i = 0; i < *count; ++i)
        made[i % inner * channels + i / inner] = values[i];
    free(values);
    return made;
}

static sbn_batchnorm *open_layer(const char *example, sbn_type type, size_t *channels)
{
    float *mean = vectors_get(&file, example, "norm.running_mean", channels),
          *var = vectors_get(&file, example, "norm.running_var", NULL),
          *weight = vectors_get(&file, example, "norm.weight", NULL);
    sbn_batchnorm *layer = LAYER_WITH(group, .name = example, .type = type, .channels = *channels,
                                      .affine = weight ? 1 : OFF,
                                      .activation = type == SBN_F32 ? SBN_IDENTITY : SBN_RELU);
    must(sbn_batchnorm_set_running_stats(layer, mean, var, NULL), "set");
    free(mean);
    free(var);
    free(weight);
    return layer;
}

/* One check: floats of a buffer are within `units` units of 2^-24 of the largest expected one, or of 1. */
static void expect_floats(const sbn_buffer *buffer, const float *expected, size_t count,
                          double units, const char *what)
{
    double worst = 0.0, largest = 1.0;
    float *got = buffer_copy(&(slice){.queue = queue}, buffer, count);
    for (size_t i = 0; i < count; ++i) {
        const double off = fabs((double)got[i] - expected[i]);
        /* Not fmax: a NaN is the worst. */
        worst = off <= worst ? worst : off;
        largest = fmax(largest, fabs(expected[i]));
    }
    worst = worst / largest * 0x1p24;
    tap_ok(worst <= units, "%s: %.2f of at most %g units off", what, worst, units);
    free(got);
}

/* The weights are floats, whatever the layer behind them stores; its ReLU stays behind them. */
static void check_values(const char *example, sbn_type type, int turned)
{
    const float pattern = PATTERN;
    size_t channels, count;
    sbn_folding foldings[REPLICAS];
    sbn_batchnorm *layer = open_layer(example, type, &channels);
    float *bias = vectors_get(&file, example, "folded.bias", NULL);
    float *from = get_weights(example, "first.weight", channels, turned, &count);
    float *expected = get_weights(example, "folded.weight", channels, turned, &count);
    for (size_t r = 0; r < REPLICAS; ++r)
        foldings[r] = FOLDING_WITH(.outer = turned ? count / channels : 1,
                                   .inner = turned ? 1 : count / channels,
                                   .weight = buffer_of(&device, queue, from, count),
                                   .bias = load(example, "first.bias"),
                                   .norm_weight = load(example, "norm.weight"),
                                   .norm_bias = load(example, "norm.bias"),
                                   .folded_weight = buffer_of(&device, queue, NULL, count),
                                   .folded_bias = buffer_of(&device, queue, NULL, channels));
    must(sbn_batchnorm_fold(layer, foldings), "sbn_batchnorm_fold");
    must(clFinish(queue), "clFinish");
    for (size_t r = 0; r < REPLICAS; ++r) {
        /* invstd, its product with weight, and the product or fma. */
        expect_floats(&foldings[r].folded_weight, expected, count, 4, example);
        expect_floats(&foldings[r].folded_bias, bias, channels, 5, example);
        foldings[r].folded_bias.offset += channels;
        expect_floats(&foldings[r].folded_bias, &pattern, 1, 0, "behind the bias");
        release(&foldings[r]);
    }
    free(bias);
    free(from);
    free(expected);
    sbn_batchnorm_destroy(layer);
}

/* A rank that only takes part has nothing to fold, and needs nobody to know that. */
static void check_none(void)
{
    const life l = LIVE_WITH(GROUP_WITH(NULL, .transport = &fixture_unanswered), .channels = 4);
    RIGHT(sbn_batchnorm_fold(l.layer, NULL));
    fixture_die(&l);
}

void checks(void)
{
    must(sbn__tensor_file_open(&file, data_path("folded.safetensors")), "open");
    group = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    for (int turned = 0; turned < 2; ++turned) {
        check_values("conv", SBN_F32, turned);
        check_values("bare", SBN_F16, turned);
        check_values("dense", SBN_BF16, turned);
    }
    sbn_group_destroy(group);
    check_none();
    sbn__tensor_file_close(&file);
}
