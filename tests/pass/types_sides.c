#include "pass/types.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements before and behind a buffer's contents: an odd number, so that nothing is aligned. */
enum { BEFORE = 7, BEHIND = 5, UNTOUCHED = 0x5a };

void *room(size_t size)
{
    void *made = malloc(size + 1);
    must(made ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    return made;
}

/* Some 32 bits that depend on both. */
static uint32_t mix(uint32_t seed, size_t i)
{
    uint64_t z = ((uint64_t)seed << 40) + i * UINT64_C(0x9e3779b97f4a7c15) + seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

/* Of VALUES_HARD. */
static float hard(sbn_type type, float value, size_t i, size_t channel)
{
    /* A step of the type at 1024. */
    const float step = type == SBN_F32 ? 0x1p-13f : type == SBN_F16 ? 1.0f : 8.0f;
    switch (channel % 5) {
    case 0: return 3.25f;
    case 1: return i % 29 == 17 ? 4096.0f : value;
    case 2: return 1024.0f + step * (float)(i % 3);
    case 3: return value * (type == SBN_F16 ? 0x1p-20f : 0x1p-120f);
    default: return value;
    }
}

/* The bits of element i of channel c, of the type under test. */
static uint32_t element(const case_of *c, uint32_t seed, size_t i, size_t channel)
{
    const uint32_t bits = mix(seed, i);
    const float value = (float)channel * 0.75f + (float)(bits >> 8) * 0x1p-22f - 1.5f;
    if (c->values == VALUES_ANY) {
        if (c->type == SBN_F32)
            return bits % 0x7f800000u | (mix(seed + 1, i) >> 31 << 31);
        const uint32_t infinity = c->type == SBN_F16 ? 0x7c00 : 0x7f80;
        return bits % infinity | (bits >> 31 << 15);
    }
    if (c->values == VALUES_SPECIAL && channel % 3 == 1 && i % 11 == 3)
        return storage_round(c->type, channel % 2 ? -INFINITY : i % 2 ? NAN : INFINITY);
    if (c->values == VALUES_HARD)
        return storage_round(c->type, hard(c->type, value, i, channel));
    if (bits % 16 == 9)
        return storage_round(c->type, -0.0f);
    /* A few are subnormal. */
    return bits % 16 == 5 && channel % 4 == 2 ? bits >> 20 & 0x803f : storage_round(c->type, value);
}

static sbn_buffer make_buffer(cl_context context, cl_command_queue queue, sbn_type type,
                              const void *from, size_t count)
{
    cl_int code;
    const size_t element_size = storage_size(type),
                 bytes = element_size * (BEFORE + count + BEHIND);
    char *all = room(bytes);
    memset(all, UNTOUCHED, bytes);
    if (from)
        memcpy(all + element_size * BEFORE, from, element_size * count);
    const sbn_buffer made = {clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code),
                             BEFORE};
    must(code, "clCreateBuffer");
    must(clEnqueueWriteBuffer(queue, made.mem, CL_TRUE, 0, bytes, all, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    free(all);
    return made;
}

static int fused_case(const case_of *c)
{
    return c->activation != SBN_IDENTITY || c->residual;
}

/* A tensor of one replica, whose samples begin at `first`. */
static sbn_buffer make_tensor(cl_context context, cl_command_queue queue, const case_of *c,
                              sbn_type type, uint32_t seed, size_t first, size_t samples)
{
    const size_t row = c->channels * c->plane, count = samples * row;
    char *elements = room(storage_size(type) * count);
    for (size_t k = 0; k < count; ++k) {
        const size_t within = k % row;
        const size_t channel = c->layout == SBN_LAYOUT_NCHW ? within / c->plane
                                                            : within % c->channels;
        const uint32_t bits = element(c, seed, first * row + k, channel);
        const float wide = storage_widen(c->type, bits);
        uint32_t wide_bits;
        memcpy(&wide_bits, &wide, sizeof wide_bits);
        storage_put(type, elements, k, type == SBN_F32 ? wide_bits : bits);
    }
    const sbn_buffer made = make_buffer(context, queue, type, elements, count);
    free(elements);
    return made;
}

/* The largest ratio of bias to weight that from_output takes is 2^-4 over the type's rounding. */
static void make_invertible(const case_of *c, float *weight, float *bias)
{
    const float most = c->type == SBN_F32 ? 0x1p20f : c->type == SBN_F16 ? 0x1p7f : 0x1p4f;
    for (size_t i = 0; i < c->channels; ++i) {
        weight[i] = (i % 2 ? -0.75f : 0.5f) * (i % 5 == 4 ? 0.0625f : 1.0f);
        bias[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 0.25f : 0.99f * most * weight[i];
    }
}

void side_open(side *s, const case_of *c, sbn_type type, int fused, sbn_group *group,
               cl_context context, cl_command_queue queue)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    float *weight = room(sizeof(float) * c->channels), *bias = room(sizeof(float) * c->channels);
    for (size_t i = 0; i < c->channels; ++i) {
        weight[i] = i % 5 == 4 ? 4096.0f : 0.5f - 0.375f * (float)(i % 4);
        bias[i] = 0.25f * (float)(i % 3) - 0.5f;
        /* Here z is 0, without a residual. */
        if (fused_case(c) && i % 7 == 2)
            weight[i] = bias[i] = 0.0f;
    }
    if (c->invertible)
        make_invertible(c, weight, bias);
    config.channels = c->channels;
    config.layout = c->layout;
    config.type = type;
    if (fused) {
        config.activation = c->activation;
        config.slope = TYPES_SLOPE;
        config.residual = c->residual;
        config.from_output = c->from_output;
    }
    s->type = type;
    must(sbn_batchnorm_create(group, &config, &s->layer), "sbn_batchnorm_create");
    must(sbn_batchnorm_set_frozen(s->layer, c->frozen), "sbn_batchnorm_set_frozen");
    must(sbn_saved_create(s->layer, &s->saved), "sbn_saved_create");
    for (size_t r = 0, first = 0; r < c->replicas; ++r) {
        const size_t samples = c->samples / c->replicas + (r < c->samples % c->replicas);
        s->elements[r] = samples * c->channels * c->plane;
        sbn_shard *shard = &s->shards[r];
        *shard = (sbn_shard)SBN_SHARD_INIT;
        shard->dims = 3;
        shard->shape[0] = samples;
        shard->shape[1] = c->channels;
        shard->shape[2] = c->plane;
        shard->x = make_tensor(context, queue, c, type, 11, first, samples);
        shard->dy = make_tensor(context, queue, c, type, 12, first, samples);
        shard->y = make_buffer(context, queue, type, NULL, s->elements[r]);
        shard->dx = make_buffer(context, queue, type, NULL, s->elements[r]);
        if (fused_case(c)) {
            shard->residual = make_tensor(context, queue, c, type, 13, first, samples);
            shard->residual_grad = make_buffer(context, queue, type, NULL, s->elements[r]);
        }
        shard->weight = make_buffer(context, queue, SBN_F32, weight, c->channels);
        shard->bias = make_buffer(context, queue, SBN_F32, bias, c->channels);
        shard->weight_grad = make_buffer(context, queue, SBN_F32, NULL, c->channels);
        shard->bias_grad = make_buffer(context, queue, SBN_F32, NULL, c->channels);
        first += samples;
    }
    free(weight);
    free(bias);
}

void side_close(side *s, const case_of *c)
{
    for (size_t r = 0; r < c->replicas; ++r) {
        const sbn_shard *shard = &s->shards[r];
        const sbn_buffer all[] = {shard->x,        shard->y,        shard->dy,
                                  shard->dx,       shard->residual, shard->residual_grad,
                                  shard->weight,   shard->bias,     shard->weight_grad,
                                  shard->bias_grad};
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
            if (all[i].mem)
                clReleaseMemObject(all[i].mem);
    }
    must(sbn_saved_destroy(s->saved), "sbn_saved_destroy");
    must(sbn_batchnorm_destroy(s->layer), "sbn_batchnorm_destroy");
}

void side_read(const side *s, size_t replica, const sbn_buffer *buffer, cl_command_queue queue,
               float *values)
{
    /* Copies of nothing are an error. */
    if (s->elements[replica] == 0)
        return;
    must(clEnqueueReadBuffer(queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                             sizeof(float) * s->elements[replica], values, 0, NULL, NULL),
         "clEnqueueReadBuffer");
}

void side_write(const side *s, size_t replica, const sbn_buffer *buffer, cl_command_queue queue,
                const float *values)
{
    if (s->elements[replica] == 0)
        return;
    must(clEnqueueWriteBuffer(queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof(float) * s->elements[replica], values, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

/* A buffer of a shard with what lies around it, to be freed. */
static char *read_all(const side *s, size_t replica, size_t place, sbn_type type, size_t count,
                      cl_command_queue queue)
{
    sbn_buffer buffer;
    const size_t bytes = storage_size(type) * (BEFORE + count + BEHIND);
    memcpy(&buffer, (const char *)&s->shards[replica] + place, sizeof buffer);
    char *all = room(bytes);
    must(clEnqueueReadBuffer(queue, buffer.mem, CL_TRUE, 0, bytes, all, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    return all;
}

static int is_untouched(const char *all, size_t size, size_t count)
{
    int same = 1;
    for (size_t i = 0; i < size * BEFORE; ++i)
        same = same && all[i] == UNTOUCHED;
    for (size_t i = size * (BEFORE + count); i < size * (BEFORE + count + BEHIND); ++i)
        same = same && all[i] == UNTOUCHED;
    return same;
}

/* Whether a device that flushes may take one for the other: weights are 4096 at most. */
static int flushed_agree(float a, float b)
{
    const float most = a == 0.0f || b == 0.0f ? 4096 * 0x1p-126f : 0x1p-126f;
    return fabsf(a) < most && fabsf(b) < most;
}

int sides_agree(const side *typed, const side *floats, const case_of *c, size_t place,
                cl_command_queue queue, char *why, size_t size)
{
    int same = 1;
    for (size_t r = 0; r < c->replicas && same; ++r) {
        const size_t count = typed->elements[r];
        char *got = read_all(typed, r, place, c->type, count, queue);
        char *wide = read_all(floats, r, place, SBN_F32, count, queue);
        same = is_untouched(got, storage_size(c->type), count);
        if (!same)
            snprintf(why, size, "replica %zu writes outside its tensor", r);
        for (size_t i = BEFORE; i < BEFORE + count && same; ++i) {
            const float value = storage_widen(SBN_F32, storage_get(SBN_F32, wide, i));
            const uint32_t expected = storage_round(c->type, value);
            const uint32_t bits = storage_get(c->type, got, i);
            same = storage_same(c->type, bits, expected) ||
                   (c->flushes && flushed_agree(value, storage_widen(c->type, bits)));
            if (!same)
                snprintf(why, size, "replica %zu, element %zu: expected 0x%04x of %a, got 0x%04x",
                         r, i - BEFORE, (unsigned)expected, (double)value, (unsigned)bits);
        }
        free(got);
        free(wide);
    }
    return same;
}

static int floats_agree(const float *a, const float *b, size_t count, const char *what, char *why,
                        size_t size)
{
    for (size_t i = 0; i < count; ++i)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) {
            snprintf(why, size, "%s of channel %zu: expected %a, got %a", what, i, (double)b[i],
                     (double)a[i]);
            return 0;
        }
    return 1;
}

int sides_agree_in_channels(const side *typed, const side *floats, const case_of *c,
                            cl_command_queue queue, char *why, size_t size)
{
    static const struct {
        const char *name;
        size_t place;
    } gradients[] = {{"weight_grad", offsetof(sbn_shard, weight_grad)},
                     {"bias_grad", offsetof(sbn_shard, bias_grad)}};
    const side *const sides[] = {typed, floats};
    const size_t n = c->channels;
    float *values = room(sizeof(float) * 8 * n);
    for (size_t s = 0; s < 2; ++s) {
        float *own = values + 4 * n * s;
        must(sbn_saved_stats(sides[s]->saved, own, own + n, NULL), "sbn_saved_stats");
        must(sbn_batchnorm_running_stats(sides[s]->layer, own + 2 * n, own + 3 * n, NULL),
             "sbn_batchnorm_running_stats");
    }
    int same = floats_agree(values, values + 4 * n, 4 * n, "a statistic", why, size);
    free(values);
    for (size_t r = 0; r < c->replicas; ++r)
        for (size_t g = 0; g < 2 && same; ++g) {
            char *got = read_all(typed, r, gradients[g].place, SBN_F32, n, queue);
            char *expected = read_all(floats, r, gradients[g].place, SBN_F32, n, queue);
            same = floats_agree((const float *)got + BEFORE, (const float *)expected + BEFORE, n,
                                gradients[g].name, why, size);
            free(got);
            free(expected);
        }
    return same;
}
