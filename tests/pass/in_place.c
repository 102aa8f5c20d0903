/*
 * Outputs in the place of inputs, dx over dy and y over x: the same bits as apart, in both forms,
 * both layouts and every kernel that applies; with channels that need the wide format, which are
 * reduced twice, and by two replicas, whose sums the devices combine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/fixture.h"
#include "support/programs_kept.h"
#include "support/sample.h"

static fixture device;
static cl_command_queue queue;

static const size_t shapes[][3] = {
    /* samples, channels, plane */
    {2, 3, 7},   {1, 5, 1000}, {33, 130, 1}, {6, 20, 49},    {3, 40, 256},
    {5, 16, 61}, {2, 3, 5000}, {9, 64, 16},  {2, 2, 300000},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MAX_REPLICAS = 2 };

typedef struct setting {
    const size_t *shape;
    sbn_layout layout;
    sbn_kernel_form form;
    size_t replicas;
    int wide; /* one channel has values from 2^-60 to 2^60 */
} setting;

typedef struct stand {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice slices[MAX_REPLICAS];
    sbn_shard shards[MAX_REPLICAS];
    cl_mem copies[MAX_REPLICAS]; /* as large as x */
    size_t replicas;
} stand;

/* Every third element of the first position's channel, over the whole range, in x and dy. */
static void widen(const slice *s, sbn_layout layout)
{
    float *values = malloc(sizeof(float) * s->elements);
    const sbn_buffer *buffers[] = {&s->shard.x, &s->shard.dy};
    const size_t step = layout == SBN_LAYOUT_NHWC ? s->channels : 1;
    for (int i = 0; i < 2; ++i) {
        buffer_read(s, buffers[i], s->elements, values);
        for (size_t k = 0; k < s->plane; k += 3)
            values[k * step] = ldexpf(values[k * step], (int)(k % 121) - 60);
        must(clEnqueueWriteBuffer(queue, buffers[i]->mem, CL_TRUE,
                                  sizeof(float) * buffers[i]->offset, sizeof(float) * s->elements,
                                  values, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
    }
    free(values);
}

static void stand_open(stand *t, const setting *set, int tracks, int frozen)
{
    sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
    *t = (stand){.replicas = set->replicas};
    t->group = fixture_group(queue, set->replicas, set->form);
    settings.channels = set->shape[1];
    settings.layout = set->layout;
    settings.track_running_stats = tracks;
    must(sbn_batchnorm_create(t->group, &settings, &t->layer), "sbn_batchnorm_create");
    must(sbn_saved_create(t->layer, &t->saved), "sbn_saved_create");
    must(sbn_batchnorm_set_frozen(t->layer, frozen), "sbn_batchnorm_set_frozen");
    for (size_t r = 0, first = 0; r < t->replicas; ++r) {
        slice *s = &t->slices[r];
        const size_t samples = r + 1 < t->replicas ? set->shape[0] / 2 : set->shape[0] - first;
        cl_int code;
        slice_open(s, &device, queue, first, samples, set->shape[1], set->shape[2], 5);
        if (set->wide)
            widen(s, set->layout);
        t->copies[r] = clCreateBuffer(device.context, CL_MEM_READ_WRITE,
                                      sizeof(float) * (s->elements + 3), NULL, &code);
        must(code, "clCreateBuffer");
        t->shards[r] = s->shard;
        first += samples;
    }
}

static void stand_close(stand *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        clReleaseMemObject(t->copies[r]);
        slice_close(&t->slices[r]);
    }
    sbn_saved_destroy(t->saved);
    sbn_batchnorm_destroy(t->layer);
    sbn_group_destroy(t->group);
}

/* Both of `input` and `output` become a copy of the input, 3 elements into its buffer. */
static void put_in_place(const stand *t, sbn_shard *shards, size_t input, size_t output)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        const sbn_buffer *from = (const sbn_buffer *)((const char *)&t->shards[r] + input);
        const sbn_buffer copy = {t->copies[r], 3};
        shards[r] = t->shards[r];
        must(clEnqueueCopyBuffer(queue, from->mem, copy.mem, sizeof(float) * from->offset,
                                 sizeof(float) * copy.offset, sizeof(float) * t->slices[r].elements,
                                 0, NULL, NULL),
             "clEnqueueCopyBuffer");
        *(sbn_buffer *)((char *)&shards[r] + input) = copy;
        *(sbn_buffer *)((char *)&shards[r] + output) = copy;
    }
}

#define IN_PLACE(t, shards, input, output) \
    put_in_place(t, shards, offsetof(sbn_shard, input), offsetof(sbn_shard, output))

static uint64_t digest_outputs(const stand *t, const sbn_shard *shards, int backward)
{
    uint64_t digest = DIGEST_START;
    for (size_t r = 0; r < t->replicas; ++r) {
        const slice *s = &t->slices[r];
        digest = digest_buffer(digest, s, backward ? &shards[r].dx : &shards[r].y, s->elements);
        if (backward && shards[r].weight_grad.mem) {
            digest = digest_buffer(digest, s, &shards[r].weight_grad, s->channels);
            digest = digest_buffer(digest, s, &shards[r].bias_grad, s->channels);
        }
    }
    return digest;
}

static void compare(uint64_t apart, uint64_t in_place, const setting *set, const char *what)
{
    tap_ok(apart == in_place, "%s: (%zu,%zu,%zu), %s, %s form, %zu replicas%s: the same bits", what,
           set->shape[0], set->shape[1], set->shape[2],
           set->layout == SBN_LAYOUT_NHWC ? "channels last" : "channels first",
           set->form == SBN_FORM_GPU ? "GPU" : "CPU", set->replicas, set->wide ? ", wide" : "");
}

static void check_evaluation(const setting *set, int tracks)
{
    stand t;
    sbn_shard shards[MAX_REPLICAS];
    stand_open(&t, set, tracks, 0);
    must(sbn_evaluate(t.layer, t.shards), "sbn_evaluate");
    const uint64_t apart = digest_outputs(&t, t.shards, 0);
    IN_PLACE(&t, shards, x, y);
    expect(sbn_evaluate(t.layer, shards), SBN_SUCCESS, "", "evaluation in place");
    compare(apart, digest_outputs(&t, shards, 0), set,
            tracks ? "evaluation" : "evaluation by the batch");
    stand_close(&t);
}

static void check_training(const setting *set)
{
    stand t;
    sbn_shard shards[MAX_REPLICAS];
    stand_open(&t, set, 1, 0);
    must(sbn_forward(t.layer, t.shards, t.saved, 0, NULL), "sbn_forward");
    const uint64_t y = digest_outputs(&t, t.shards, 0);
    must(sbn_backward(t.layer, t.shards, t.saved, 0, NULL), "sbn_backward");
    const uint64_t dx = digest_outputs(&t, t.shards, 1);
    IN_PLACE(&t, shards, x, y);
    expect(sbn_recompute(t.layer, shards, t.saved), SBN_SUCCESS, "", "recomputation in place");
    compare(y, digest_outputs(&t, shards, 0), set, "recomputation");
    IN_PLACE(&t, shards, dy, dx);
    expect(sbn_backward(t.layer, shards, t.saved, 0, NULL), SBN_SUCCESS, "", "backward in place");
    compare(dx, digest_outputs(&t, shards, 1), set, "backward");
    IN_PLACE(&t, shards, x, y);
    expect(sbn_forward(t.layer, shards, t.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 0: y is written and must not overlap x", "training in place");
    stand_close(&t);
}

static void check_frozen(const setting *set)
{
    stand t;
    sbn_shard shards[MAX_REPLICAS];
    stand_open(&t, set, 1, 1);
    must(sbn_forward(t.layer, t.shards, t.saved, 0, NULL), "sbn_forward");
    const uint64_t y = digest_outputs(&t, t.shards, 0);
    must(sbn_backward(t.layer, t.shards, t.saved, 0, NULL), "sbn_backward");
    const uint64_t dx = digest_outputs(&t, t.shards, 1);
    IN_PLACE(&t, shards, dy, dx);
    expect(sbn_backward(t.layer, shards, t.saved, 0, NULL), SBN_SUCCESS, "",
           "frozen backward in place");
    compare(dx, digest_outputs(&t, shards, 1), set, "frozen backward");
    IN_PLACE(&t, shards, x, y);
    expect(sbn_forward(t.layer, shards, t.saved, 0, NULL), SBN_SUCCESS, "",
           "frozen forward in place");
    compare(y, digest_outputs(&t, shards, 0), set, "frozen forward");
    stand_close(&t);
}

/* What is neither apart nor in place is refused as before. */
static void check_shifted(void)
{
    const setting set = {shapes[0], SBN_LAYOUT_NCHW, SBN_FORM_CPU, 2, 0};
    stand t;
    sbn_shard shards[MAX_REPLICAS];
    stand_open(&t, &set, 1, 0);
    must(sbn_forward(t.layer, t.shards, t.saved, 0, NULL), "sbn_forward");
    IN_PLACE(&t, shards, dy, dx);
    --shards[1].dx.offset;
    expect(sbn_backward(t.layer, shards, t.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: dx is written and must not overlap dy", "dx one element before dy");
    IN_PLACE(&t, shards, dy, dx);
    shards[0].dx = shards[1].dy;
    expect(sbn_backward(t.layer, shards, t.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: dx must not overlap dx of replica 0", "dx over another replica's dy");
    IN_PLACE(&t, shards, dy, dx);
    shards[0].x = shards[0].dy;
    expect(sbn_backward(t.layer, shards, t.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 0: dx is written and must not overlap x", "dx over dy which is x");
    IN_PLACE(&t, shards, dy, dx);
    shards[1].x = (sbn_buffer){shards[0].dx.mem, 0};
    expect(sbn_backward(t.layer, shards, t.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "replica 1: x must not overlap dx of replica 0",
           "dx over dy, another replica's x there");
    stand_close(&t);
}

/* A sample is a third of each shape's settings, other ones of the next shape. */
static void checks(void)
{
    const int few = *tool() != '\0';
    const size_t step = sample_only() ? 3 : 1;
    for (size_t i = 0; i < (few ? 3 : SHAPES); ++i)
        for (size_t options = i % step; options < 16; options += step) {
            const setting set = {
                .shape = shapes[i],
                .layout = options & 1 ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW,
                .form = options & 2 ? SBN_FORM_GPU : SBN_FORM_CPU,
                .replicas = options & 4 && shapes[i][0] > 1 ? 2 : 1,
                .wide = (options & 8) != 0,
            };
            check_evaluation(&set, 1);
            check_evaluation(&set, 0);
            check_training(&set);
            check_frozen(&set);
        }
    check_shifted();
    programs_release();
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
