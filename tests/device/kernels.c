/*
 * Every kernel, in a few sizes that are multiples of no vector or block: both forms, both layouts,
 * planes of one element, of part of a block and of several blocks, narrow and wide format. All
 * forms and layouts must give the same bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"
#include "support/fixture.h"

static const struct {
    size_t samples, channels, plane;
    float scale; /* of x and dy */
    int wide;
    float step; /* of the first 16 elements of 256, so that their blocks are summed again */
} sizes[] = {
    {3, 5, 7, 1.0f, 0, 0},        {5, 17, 1, 1.0f, 0, 0},      {2, 3, 67, 1.0f, 0, 0},
    {1, 2, 2100, 1.0f, 0, 0},     {2, 35, 3, 1.0f, 0, 0},      {3, 3, 21, 0x1p70f, 1, 0},
    {5, 19, 1, 0x1p70f, 1, 0},    {1, 1, 1030, 0x1p70f, 1, 0}, {2, 5, 67, 1.0f, 0, 1000.0f},
    {1, 2, 700, 1.0f, 0, -50.0f},
};

static fixture device;

typedef struct variant {
    const char *name;
    sbn_kernel_form form;
    sbn_layout layout;
    int on_host; /* where passes are combined */
} variant;

static const variant variants[] = {
    {"cpu, channels first", SBN_FORM_CPU, SBN_LAYOUT_NCHW, 0},
    {"gpu, channels first", SBN_FORM_GPU, SBN_LAYOUT_NCHW, 0},
    {"cpu, channels last", SBN_FORM_CPU, SBN_LAYOUT_NHWC, 0},
    {"gpu, channels last", SBN_FORM_GPU, SBN_LAYOUT_NHWC, 0},
    {"cpu, channels first, the host combines", SBN_FORM_CPU, SBN_LAYOUT_NCHW, 1},
    {"gpu, channels last, the host combines", SBN_FORM_GPU, SBN_LAYOUT_NHWC, 1},
};

/* Element k of memory, in the order of channels first. */
static size_t place(const slice *s, sbn_layout layout, size_t k)
{
    const size_t c = k % s->channels, i = k / s->channels % s->plane;
    const size_t n = k / s->channels / s->plane;
    return layout == SBN_LAYOUT_NCHW ? k : (n * s->channels + c) * s->plane + i;
}

/* Brings a buffer of the fixture into the layout, and scales it; the step follows. */
static void lay_out(const slice *s, const sbn_buffer *buffer, sbn_layout layout, float scale,
                    float step)
{
    float *first = malloc(sizeof(float) * s->elements), *laid = malloc(sizeof(float) * s->elements);
    must(first && laid ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    buffer_read(s, buffer, s->elements, first);
    for (size_t k = 0; k < s->elements; ++k) {
        const size_t from = place(s, layout, k);
        laid[k] = scale * first[from] + (from % s->plane % 256 < 16 ? step : 0.0f);
    }
    must(clEnqueueWriteBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof(float) * s->elements, laid, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    free(first);
    free(laid);
}

static uint64_t digest_tensor(uint64_t digest, const slice *s, const sbn_buffer *buffer,
                              sbn_layout layout)
{
    float *first = malloc(sizeof(float) * s->elements), *laid = malloc(sizeof(float) * s->elements);
    must(first && laid ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    buffer_read(s, buffer, s->elements, laid);
    for (size_t k = 0; k < s->elements; ++k)
        first[place(s, layout, k)] = laid[k];
    digest = digest_of(digest, first, sizeof(float) * s->elements);
    free(first);
    free(laid);
    return digest;
}

/* Forward, backward, evaluation, recomputation of one size: a digest of all that is written. */
static uint64_t run(sbn_group *group, cl_command_queue queue, size_t size, const variant *v,
                    int *wide)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_result forward = SBN_RESULT_INIT, backward = SBN_RESULT_INIT;
    slice s;
    uint64_t digest = DIGEST_START;
    config.channels = sizes[size].channels;
    config.layout = v->layout;
    sbn_batchnorm *layer = fixture_layer_of(group, &config);
    sbn_saved *saved = fixture_saved(layer);
    slice_open(&s, &device, queue, 0, sizes[size].samples, sizes[size].channels, sizes[size].plane,
               80);
    lay_out(&s, &s.shard.x, v->layout, sizes[size].scale, sizes[size].step);
    lay_out(&s, &s.shard.dy, v->layout, sizes[size].scale, sizes[size].step);
    must(sbn_forward(layer, &s.shard, saved, 0, &forward), "sbn_forward");
    digest = digest_tensor(digest, &s, &s.shard.y, v->layout);
    must(sbn_backward(layer, &s.shard, saved, 0, &backward), "sbn_backward");
    must(sbn_backward(layer, &s.shard, saved, SBN_ACCUMULATE_GRADIENTS, NULL), "sbn_backward");
    digest = digest_tensor(digest, &s, &s.shard.dx, v->layout);
    digest = digest_buffer(digest, &s, &s.shard.weight_grad, s.channels);
    digest = digest_buffer(digest, &s, &s.shard.bias_grad, s.channels);
    must(sbn_evaluate(layer, &s.shard), "sbn_evaluate");
    digest = digest_tensor(digest, &s, &s.shard.y, v->layout);
    must(sbn_recompute(layer, &s.shard, saved), "sbn_recompute");
    digest = digest_tensor(digest, &s, &s.shard.y, v->layout);
    *wide = forward.wide == backward.wide ? forward.wide : 2;
    slice_close(&s);
    fixture_end(layer, saved);
    return digest;
}

static void checks(void)
{
    enum { SIZES = sizeof sizes / sizeof *sizes, VARIANTS = sizeof variants / sizeof *variants };
    cl_command_queue queue = fixture_queue(&device, 0);
    uint64_t digests[VARIANTS][SIZES];
    int wide[VARIANTS][SIZES], combine[2];
    sbn_group *groups[2];
    for (size_t v = 0; v < VARIANTS; ++v) {
        if (v < 2) {
            groups[v] = fixture_group(queue, 1, variants[v].form);
            combine[v] = groups[v]->combines;
        }
        groups[v % 2]->combines = combine[v % 2] && !variants[v].on_host;
        for (size_t i = 0; i < SIZES; ++i)
            digests[v][i] = run(groups[v % 2], queue, i, &variants[v], &wide[v][i]);
    }
    for (size_t v = 0; v < VARIANTS; ++v)
        for (size_t i = 0; i < SIZES; ++i)
            tap_ok(digests[v][i] == digests[0][i] &&
                       wide[v][i] == (combine[v % 2] && !variants[v].on_host ? -1 : sizes[i].wide),
                   "%s: mb%zuic%zuil%zu, wide %d: %016llx, expected %016llx", variants[v].name,
                   sizes[i].samples, sizes[i].channels, sizes[i].plane, wide[v][i],
                   (unsigned long long)digests[v][i], (unsigned long long)digests[0][i]);
    sbn_group_destroy(groups[0]);
    sbn_group_destroy(groups[1]);
    clReleaseCommandQueue(queue);
}

int main(void)
{
    return fixture_main(&device, NULL, checks);
}
