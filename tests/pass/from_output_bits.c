/*
 * Backward from the output gives the same bits however the batch is spread: over one replica and
 * three, in both layouts and forms, combined on the device and on the host, in one launch,
 * in separate commands, with another layer in the pass, with y over x and apart, in views,
 * and with dx over dy. Of each type, with planes of one element, of parts of a block and of blocks,
 * with channels that need the wide format.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"
#include "support/fixture.h"
#include "support/programs_kept.h"
#include "support/sample.h"
#include "support/storage.h"

enum { MAX_REPLICAS = 3, GAP = 5 };

static fixture device;
static cl_command_queue queue;

typedef struct batch {
    sbn_type type;
    sbn_activation activation;
    size_t samples, channels, plane;
    int on_gpu, in_sample; /* in the GPU form, too; programs take long to compile */
} batch;

static const batch batches[] = {
    {SBN_F32, SBN_LEAKY_RELU, 7, 6, 61, 1, 1},    {SBN_F32, SBN_LEAKY_RELU, 70, 35, 1, 1, 1},
    {SBN_F32, SBN_IDENTITY, 3, 3, 3000, 0, 0},    {SBN_F16, SBN_LEAKY_RELU, 5, 19, 256, 0, 0},
    {SBN_F16, SBN_IDENTITY, 9, 40, 1, 1, 1},      {SBN_F16, SBN_IDENTITY, 5, 6, 270, 1, 1},
    {SBN_BF16, SBN_LEAKY_RELU, 4, 17, 300, 0, 1}, {SBN_BF16, SBN_IDENTITY, 3, 64, 48, 0, 0},
};

/* What the bits must not depend on. */
typedef struct variant {
    const char *name;
    size_t replicas;
    sbn_layout layout;
    sbn_kernel_form form;
    int on_host, begins, branches, apart, views;
} variant;

#define FIRST SBN_LAYOUT_NCHW
#define LAST SBN_LAYOUT_NHWC
static const variant variants[] = {
    {"one replica", 1, FIRST, SBN_FORM_CPU, 0, 0, 0, 0, 0},
    {"y apart", 1, FIRST, SBN_FORM_CPU, 0, 0, 0, 1, 0},
    {"channels last", 1, LAST, SBN_FORM_CPU, 0, 0, 0, 0, 0},
    {"begin and end", 1, FIRST, SBN_FORM_CPU, 0, 1, 0, 0, 0},
    {"on the host", 1, LAST, SBN_FORM_CPU, 1, 0, 0, 0, 0},
    {"channels first on the host", 1, FIRST, SBN_FORM_CPU, 1, 0, 0, 0, 0},
    {"three replicas", 3, FIRST, SBN_FORM_CPU, 0, 0, 0, 0, 0},
    {"three replicas, last", 3, LAST, SBN_FORM_CPU, 0, 0, 0, 1, 0},
    {"three replicas on the host", 3, FIRST, SBN_FORM_CPU, 1, 0, 0, 0, 0},
    {"two layers", 3, FIRST, SBN_FORM_CPU, 0, 0, 1, 0, 0},
    {"views", 1, FIRST, SBN_FORM_CPU, 0, 0, 0, 0, 1},
    {"views, last", 3, LAST, SBN_FORM_CPU, 0, 0, 0, 1, 1},
    {"GPU form", 1, FIRST, SBN_FORM_GPU, 0, 0, 0, 0, 0},
    {"GPU form, views, last", 3, LAST, SBN_FORM_GPU, 0, 0, 0, 0, 1},
};

/* A layer with its shards, of one variant. */
typedef struct stand {
    const batch *b;
    const variant *v;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    size_t row, rows, pitch; /* of tensors: elements, how many, from one to the next */
    sbn_shard shards[MAX_REPLICAS];
} stand;

/* Negative, positive, and in every fourth channel over the whole range of floats. */
static float value(const batch *b, int which, size_t n, size_t c, size_t i)
{
    const float v = (which ? batch_dy : batch_x)(9, n, c, i);
    return c % 4 == 3 && b->type != SBN_F16 ? ldexpf(v, (int)((n + i) % 41) - 40) : v;
}

static size_t samples_of(const stand *s, size_t r)
{
    return s->b->samples / s->v->replicas + (r < s->b->samples % s->v->replicas);
}

/* Rows of a replica's tensor. */
static size_t rows_of(const stand *s, size_t r)
{
    return samples_of(s, r) * (s->rows / s->b->samples);
}

/* Element (n, c, i) of a replica. */
static size_t place_of(const stand *s, size_t n, size_t c, size_t i)
{
    return s->v->layout == FIRST ? n * s->pitch + c * s->b->plane + i
                                 : (n * s->b->plane + i) * s->pitch + c;
}

static sbn_buffer make_buffer(size_t bytes, const void *from)
{
    cl_int code;
    const sbn_buffer made = {clCreateBuffer(device.context, CL_MEM_READ_WRITE, bytes, NULL, &code),
                             0};
    must(code, "clCreateBuffer");
    must(clEnqueueWriteBuffer(queue, made.mem, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    return made;
}

static sbn_buffer make_tensor(const stand *s, size_t r, size_t first, int which)
{
    const size_t size = storage_size(s->b->type), count = rows_of(s, r) * s->pitch;
    void *all = calloc(count, size);
    must(all ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    for (size_t n = 0; n < samples_of(s, r); ++n)
        for (size_t c = 0; c < s->b->channels; ++c)
            for (size_t i = 0; i < s->b->plane; ++i)
                storage_put(s->b->type, all, place_of(s, n, c, i),
                            storage_round(s->b->type, value(s->b, which, first + n, c, i)));
    const sbn_buffer made = make_buffer(size * count, all);
    free(all);
    return made;
}

static sbn_buffer make_channels(const batch *b, float first, float step)
{
    float all[64];
    for (size_t c = 0; c < b->channels; ++c)
        all[c] = (c % 2 ? -1.0f : 1.0f) * (first + step * (float)(c % 5));
    return make_buffer(sizeof *all * b->channels, all);
}

static void stand_open(stand *s, const batch *b, const variant *v, sbn_group *group)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    *s = (stand){.b = b, .v = v};
    s->row = v->layout == FIRST ? b->channels * b->plane : b->channels;
    s->rows = b->samples * b->channels * b->plane / s->row;
    s->pitch = s->row + (v->views ? GAP : 0);
    config.channels = b->channels;
    config.layout = v->layout;
    config.type = b->type;
    config.activation = b->activation;
    config.slope = 0.1;
    config.from_output = 1;
    must(sbn_batchnorm_create(group, &config, &s->layer), sbn_last_error());
    must(sbn_saved_create(s->layer, &s->saved), sbn_last_error());
    for (size_t r = 0, first = 0; r < v->replicas; first += samples_of(s, r++)) {
        sbn_shard *shard = &s->shards[r];
        *shard = (sbn_shard)SBN_SHARD_INIT;
        shard->dims = 3;
        shard->shape[0] = samples_of(s, r);
        shard->shape[1] = b->channels;
        shard->shape[2] = b->plane;
        shard->x = make_tensor(s, r, first, 0);
        shard->dy = make_tensor(s, r, first, 1);
        shard->y = v->apart ? make_tensor(s, r, first, 0) : shard->x;
        shard->dx = v->apart ? make_tensor(s, r, first, 0) : shard->dy;
        shard->weight = make_channels(b, 0.25f, 0.5f);
        shard->bias = make_channels(b, 0.0f, 0.125f);
        shard->weight_grad = make_channels(b, 0.0f, 0.0f);
        shard->bias_grad = make_channels(b, 0.0f, 0.0f);
        if (v->views)
            shard->x_pitch = shard->y_pitch = shard->dy_pitch = shard->dx_pitch = s->pitch;
    }
}

static void stand_close(stand *s)
{
    must(clFinish(queue), "clFinish");
    for (size_t r = 0; r < s->v->replicas; ++r) {
        const sbn_shard *shard = &s->shards[r];
        const cl_mem all[] = {shard->x.mem,    shard->dy.mem,          shard->weight.mem,
                              shard->bias.mem, shard->weight_grad.mem, shard->bias_grad.mem,
                              shard->y.mem,    shard->dx.mem};
        for (size_t i = 0; i < (s->v->apart ? 8 : 6); ++i)
            clReleaseMemObject(all[i]);
    }
    must(sbn_saved_destroy(s->saved), sbn_last_error());
    must(sbn_batchnorm_destroy(s->layer), sbn_last_error());
}

/* Of dx in the order of samples, channels and positions, and of both gradients. */
static uint64_t digest_of_stand(const stand *s)
{
    uint64_t digest = DIGEST_START;
    for (size_t r = 0; r < s->v->replicas; ++r) {
        const size_t size = storage_size(s->b->type), bytes = size * rows_of(s, r) * s->pitch;
        void *all = malloc(bytes);
        must(all ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
        must(clEnqueueReadBuffer(queue, s->shards[r].dx.mem, CL_TRUE, 0, bytes, all, 0, NULL, NULL),
             "clEnqueueReadBuffer");
        for (size_t n = 0; n < samples_of(s, r); ++n)
            for (size_t c = 0; c < s->b->channels; ++c)
                for (size_t i = 0; i < s->b->plane; ++i) {
                    const uint32_t bits = storage_get(s->b->type, all, place_of(s, n, c, i));
                    digest = digest_of(digest, &bits, sizeof bits);
                }
        free(all);
    }
    float sums[2][64];
    const sbn_buffer *of[] = {&s->shards[0].weight_grad, &s->shards[0].bias_grad};
    for (int k = 0; k < 2; ++k) {
        must(clEnqueueReadBuffer(queue, of[k]->mem, CL_TRUE, 0, sizeof(float) * s->b->channels,
                                 sums[k], 0, NULL, NULL),
             "clEnqueueReadBuffer");
        digest = digest_of(digest, sums[k], sizeof(float) * s->b->channels);
    }
    return digest;
}

static void run(stand *s, stand *other)
{
    const unsigned flags = SBN_GLOBAL_GRADIENTS;
    sbn_pass *pass;
    sbn_branch branches[] = {SBN_BRANCH_INIT, SBN_BRANCH_INIT};
    branches[0].layer = s->layer;
    branches[0].shards = s->shards;
    branches[0].saved = s->saved;
    branches[1].layer = other->layer;
    branches[1].shards = other->shards;
    branches[1].saved = other->saved;
    if (s->v->branches) {
        must(sbn_forward_branches(branches, 2, NULL), sbn_last_error());
        branches[0].flags = branches[1].flags = flags;
        must(sbn_backward_branches(branches, 2, NULL), sbn_last_error());
    } else if (s->v->begins) {
        must(sbn_forward_begin(s->layer, s->shards, s->saved, 0, &pass), sbn_last_error());
        must(sbn_pass_end(pass, NULL), sbn_last_error());
        must(sbn_backward_begin(s->layer, s->shards, s->saved, flags, &pass), sbn_last_error());
        must(sbn_pass_end(pass, NULL), sbn_last_error());
    } else {
        must(sbn_forward(s->layer, s->shards, s->saved, 0, NULL), sbn_last_error());
        must(sbn_backward(s->layer, s->shards, s->saved, flags, NULL), sbn_last_error());
    }
}

static uint64_t outcome(const batch *b, const variant *v)
{
    const cl_command_queue queues[MAX_REPLICAS] = {queue, queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group;
    stand s, other;
    config.queues = queues;
    config.replicas = v->replicas;
    config.form = v->form;
    must(sbn_group_create(&config, &group), sbn_last_error());
    group->combines = group->combines && !v->on_host;
    stand_open(&s, b, v, group);
    stand_open(&other, b, v, group);
    run(&s, &other);
    const uint64_t digest = digest_of_stand(&s);
    if (v->branches)
        tap_ok(digest_of_stand(&other) == digest, "two layers of the same numbers: the same bits");
    stand_close(&s);
    stand_close(&other);
    must(sbn_group_destroy(group), sbn_last_error());
    return digest;
}

static void checks(void)
{
    const int few = *tool() != '\0';
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i += few ? 3 : 1) {
        const batch *b = &batches[i];
        if (sample_only() && !b->in_sample)
            continue;
        const uint64_t expected = outcome(b, &variants[0]);
        for (size_t k = 1; k < sizeof variants / sizeof *variants; ++k)
            if (b->on_gpu || variants[k].form == SBN_FORM_CPU)
                tap_ok(outcome(b, &variants[k]) == expected,
                       "%s%s, mb%zuic%zuil%zu: %s: the same bits", storage_name(b->type),
                       b->activation == SBN_IDENTITY ? "" : ", leaky", b->samples, b->channels,
                       b->plane, variants[k].name);
    }
    programs_release();
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
