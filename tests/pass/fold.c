/*
 * Folding against PyTorch's float64: a convolution, one without bias before a layer without weight, a
 * dense layer in both orders of its weights; before layers of each type, on two replicas, on
 * out-of-order queues.
 */
#include <stdlib.h>
#include <string.h>

#include "support/vectors.h"

static fixture device;
static cl_command_queue queue;
static sbn_group *group;

enum { REPLICAS = 2 };

typedef struct example {
    const char *name;
    sbn_tensor_file file;
    size_t channels, weights;
    sbn_batchnorm *layer;
    sbn_folding foldings[REPLICAS];
} example;

static float *get(const example *e, const char *name, size_t *count)
{
    return vectors_get(&e->file, e->name, name, count);
}

static sbn_buffer load(const example *e, const char *name)
{
    size_t count = 0;
    float *values = get(e, name, &count);
    const sbn_buffer made = values ? buffer_of(&device, queue, values, count)
                                   : (sbn_buffer){NULL, 0};
    free(values);
    return made;
}

static void example_open(example *e, const char *name, sbn_type type)
{
    memset(e, 0, sizeof *e);
    e->name = name;
    vectors_open(&e->file, "folded.safetensors");
    float *mean = get(e, "norm.running_mean", &e->channels);
    float *var = get(e, "norm.running_var", NULL), *weight = get(e, "norm.weight", NULL);
    free(get(e, "first.weight", &e->weights));
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.name = name;
    config.type = type;
    config.channels = e->channels;
    config.affine = weight != NULL;
    e->layer = fixture_layer_of(group, &config);
    must(sbn_batchnorm_set_running_stats(e->layer, mean, var, NULL), "set");
    for (size_t r = 0; r < REPLICAS; ++r)
        e->foldings[r] = (sbn_folding){
            .size = sizeof(sbn_folding),
            .outer = 1,
            .inner = e->weights / e->channels,
            .weight = load(e, "first.weight"),
            .bias = load(e, "first.bias"),
            .norm_weight = load(e, "norm.weight"),
            .norm_bias = load(e, "norm.bias"),
            .folded_weight = buffer_of(&device, queue, NULL, e->weights),
            .folded_bias = buffer_of(&device, queue, NULL, e->channels),
        };
    free(mean);
    free(var);
    free(weight);
}

static void release(const sbn_buffer *buffer)
{
    if (buffer->mem)
        clReleaseMemObject(buffer->mem);
}

static void example_close(example *e)
{
    clFinish(queue);
    for (size_t r = 0; r < REPLICAS; ++r) {
        const sbn_folding *f = &e->foldings[r];
        release(&f->weight);
        release(&f->bias);
        release(&f->norm_weight);
        release(&f->norm_bias);
        release(&f->folded_weight);
        release(&f->folded_bias);
    }
    sbn_batchnorm_destroy(e->layer);
    sbn__tensor_file_close(&e->file);
}

/* The expected weights, (channels, inner) or turned into (inner, channels). */
static void turn(const example *e, const float *from, float *to)
{
    const size_t inner = e->weights / e->channels;
    for (size_t c = 0; c < e->channels; ++c)
        for (size_t i = 0; i < inner; ++i)
            to[i * e->channels + c] = from[c * inner + i];
}

/* The weights are floats, whatever the layer behind them stores. */
static void check_values(const char *name, sbn_type type)
{
    example e;
    example_open(&e, name, type);
    float *weight = get(&e, "folded.weight", NULL), *bias = get(&e, "folded.bias", NULL);
    cl_event events[REPLICAS];
    for (size_t r = 0; r < REPLICAS; ++r)
        e.foldings[r].event = &events[r];
    expect(sbn_batchnorm_fold(e.layer, e.foldings), SBN_SUCCESS, "", name);
    for (size_t r = 0; r < REPLICAS; ++r) {
        const slice s = {.queue = queue};
        must(clWaitForEvents(1, &events[r]), "clWaitForEvents");
        clReleaseEvent(events[r]);
        /* invstd, its product with weight, and the product or fma. */
        expect_floats(&s, &e.foldings[r].folded_weight, weight, e.weights, 4, "weight");
        expect_floats(&s, &e.foldings[r].folded_bias, bias, e.channels, 5, "bias");
    }
    /*
     * The same weights with channels innermost, in place of the first replica's: written when the
     * folding has been called, which waits for that.
     */
    float *from = get(&e, "first.weight", NULL), *turned = malloc(sizeof(float) * e.weights);
    cl_event written = fixture_gate(&device);
    cl_command_queue other = fixture_queue(&device, 0);
    turn(&e, from, turned);
    release(&e.foldings[0].weight);
    e.foldings[0].weight = buffer_of(&device, queue, NULL, e.weights);
    e.foldings[0].outer = e.weights / e.channels;
    e.foldings[0].inner = 1;
    e.foldings[0].num_wait = 1;
    e.foldings[0].wait_list = &written;
    e.foldings[0].event = e.foldings[1].event = NULL;
    must(sbn_batchnorm_fold(e.layer, e.foldings), "sbn_batchnorm_fold");
    must(clEnqueueWriteBuffer(other, e.foldings[0].weight.mem, CL_TRUE,
                              sizeof(float) * e.foldings[0].weight.offset,
                              sizeof(float) * e.weights, turned, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    must(clSetUserEventStatus(written, CL_COMPLETE), "clSetUserEventStatus");
    clReleaseEvent(written);
    clReleaseCommandQueue(other);
    must(clFinish(queue), "clFinish");
    turn(&e, weight, turned);
    const slice s = {.queue = queue};
    expect_floats(&s, &e.foldings[0].folded_weight, turned, e.weights, 4, "channels innermost");
    free(weight);
    free(bias);
    free(from);
    free(turned);
    example_close(&e);
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
    expect(sbn_batchnorm_fold(layer, NULL), SBN_SUCCESS, "", "without a replica");
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(one_rank);
    sbn_hub_destroy(hub);
}

static void checks(void)
{
    for (int out_of_order = 0; out_of_order < 2; ++out_of_order) {
        queue = fixture_queue(&device, out_of_order);
        group = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
        check_values("conv", SBN_F32);
        check_values("bare", SBN_F16);
        check_values("dense", SBN_BF16);
        sbn_group_destroy(group);
        clReleaseCommandQueue(queue);
    }
    check_none();
}

int main(void)
{
    return fixture_main(&device, NULL, checks);
}
