/*
 * Folding against PyTorch's float64: a convolution, one without bias before a layer without weight, a
 * dense layer, each in both orders of its weights; before layers of each type, on two replicas, on
 * out-of-order queues.
 */
#include <stdlib.h>

#include "support/main.h"
#include "support/refused.h"
#include "support/vectors.h"

enum { REPLICAS = 2 };

static cl_command_queue on;
static sbn_group *group;
static sbn_tensor_file file;

static float *get(const char *example, const char *name, size_t *count)
{
    return vectors_get(&file, example, name, count);
}

static sbn_buffer load(const char *example, const char *name)
{
    size_t count = 0;
    float *values = get(example, name, &count);
    const sbn_buffer made = values ? buffer_of(&device, on, values, count) : (sbn_buffer){NULL, 0};
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
static float *get_weights(const char *example, const char *name, size_t channels, int turned)
{
    size_t count;
    float *values = get(example, name, &count);
    if (!turned)
        return values;
    const size_t inner = count / channels;
    float *made = malloc(sizeof *made * count);
    for (size_t i = 0; i < count; ++i)
        made[i % inner * channels + i / inner] = values[i];
    free(values);
    return made;
}

static sbn_batchnorm *open_layer(const char *example, sbn_type type, size_t *channels)
{
    float *mean = get(example, "norm.running_mean", channels),
          *var = get(example, "norm.running_var", NULL),
          *weight = get(example, "norm.weight", NULL);
    sbn_batchnorm *layer = LAYER_WITH(group, .name = example, .type = type, .channels = *channels,
                                      .affine = weight ? 1 : OFF,
                                      .activation = type == SBN_F32 ? SBN_IDENTITY : SBN_RELU);
    must(sbn_batchnorm_set_running_stats(layer, mean, var, NULL), "set");
    free(mean);
    free(var);
    free(weight);
    return layer;
}

/* The weights are written when the folding has been called, which waits for that. */
static void fold_late(sbn_batchnorm *layer, sbn_folding foldings[REPLICAS], const float *weights,
                      size_t count)
{
    cl_event written = fixture_gate(&device), folded[REPLICAS];
    cl_command_queue other = fixture_queue(&device, 0);
    for (size_t r = 0; r < REPLICAS; ++r) {
        foldings[r].num_wait = 1;
        foldings[r].wait_list = &written;
        foldings[r].event = &folded[r];
    }
    must(sbn_batchnorm_fold(layer, foldings), "sbn_batchnorm_fold");
    for (size_t r = 0; r < REPLICAS; ++r)
        buffer_write(&(slice){.queue = other}, &foldings[r].weight, count, weights);
    must(clSetUserEventStatus(written, CL_COMPLETE), "clSetUserEventStatus");
    must(clWaitForEvents(REPLICAS, folded), "clWaitForEvents");
    events_release(folded, REPLICAS);
    clReleaseEvent(written);
    clReleaseCommandQueue(other);
}

/* The weights are floats, whatever the layer behind them stores; its ReLU stays behind them. */
static void check_values(const char *example, sbn_type type, int turned)
{
    const slice s = {.queue = on};
    size_t channels, count;
    sbn_folding foldings[REPLICAS];
    sbn_batchnorm *layer = open_layer(example, type, &channels);
    float *bias = get(example, "folded.bias", NULL);
    free(get(example, "first.weight", &count));
    float *from = get_weights(example, "first.weight", channels, turned);
    float *expected = get_weights(example, "folded.weight", channels, turned);
    for (size_t r = 0; r < REPLICAS; ++r)
        foldings[r] = (sbn_folding){
            .size = sizeof(sbn_folding),
            .outer = turned ? count / channels : 1,
            .inner = turned ? 1 : count / channels,
            .weight = buffer_of(&device, on, NULL, count),
            .bias = load(example, "first.bias"),
            .norm_weight = load(example, "norm.weight"),
            .norm_bias = load(example, "norm.bias"),
            .folded_weight = buffer_of(&device, on, NULL, count),
            .folded_bias = buffer_of(&device, on, NULL, channels),
        };
    fold_late(layer, foldings, from, count);
    for (size_t r = 0; r < REPLICAS; ++r) {
        /* invstd, its product with weight, and the product or fma. */
        expect_floats(&s, &foldings[r].folded_weight, expected, count, 4, example);
        expect_floats(&s, &foldings[r].folded_bias, bias, channels, 5, example);
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
    sbn_transport transport = SBN_TRANSPORT_INIT;
    sbn_hub *hub;
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    must(sbn_hub_transport(hub, 1, &transport), "sbn_hub_transport");
    sbn_group *one_rank = fixture_rank(NULL, 0, &transport);
    sbn_batchnorm *layer = fixture_layer(one_rank, 4);
    RIGHT(sbn_batchnorm_fold(layer, NULL));
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(one_rank);
    sbn_hub_destroy(hub);
}

void checks(void)
{
    vectors_open(&file, "folded.safetensors");
    for (int out_of_order = 0; out_of_order < 2; ++out_of_order) {
        on = fixture_queue(&device, out_of_order);
        group = fixture_group(on, REPLICAS, SBN_FORM_AUTO);
        for (int turned = 0; turned < 2; ++turned) {
            check_values("conv", SBN_F32, turned);
            check_values("bare", SBN_F16, turned);
            check_values("dense", SBN_BF16, turned);
        }
        sbn_group_destroy(group);
        clReleaseCommandQueue(on);
    }
    check_none();
    sbn__tensor_file_close(&file);
}
