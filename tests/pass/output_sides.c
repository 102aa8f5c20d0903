#include "pass/output_sides.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"

/* Elements before and behind a buffer's contents: an odd number, so that nothing is aligned. */
enum { BEFORE = 7, BEHIND = 5 };

static void setup_open(setup *on, const device_info *info)
{
    cl_int code;
    cl_device_id device = info->id;
    *on = (setup){.device = info->name, .has_cpu_form = info->form == SBN_FORM_CPU};
    on->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    on->queue = clCreateCommandQueue(on->context, device, 0, &code);
    must(code, "clCreateCommandQueue");
}

static void setup_close(setup *on)
{
    clReleaseCommandQueue(on->queue);
    clReleaseContext(on->context);
}

void setup_open_group(setup *on, size_t replicas)
{
    on->group = fixture_group(on->queue, replicas, on->form);
    on->group->combines = on->group->combines && !on->on_host;
}

void setup_each(const device_info *info, void (*check)(setup *on, size_t replicas))
{
    setup on;
    setup_open(&on, info);
    if (on.has_cpu_form) {
        on.form = SBN_FORM_CPU;
        check(&on, 1);
        check(&on, SIDES_REPLICAS);
        on.on_host = 1;
        check(&on, 1);
        check(&on, SIDES_REPLICAS);
        on.on_host = 0;
    }
    on.form = SBN_FORM_GPU;
    check(&on, 1);
    setup_close(&on);
}

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

static sbn_buffer make_buffer(const setup *on, sbn_type type, const void *from, size_t count)
{
    cl_int code;
    const size_t element_size = storage_size(type),
                 bytes = element_size * (BEFORE + count + BEHIND);
    char *all = room(bytes);
    memset(all, 0x5a, bytes);
    if (from)
        memcpy(all + element_size * BEFORE, from, element_size * count);
    const sbn_buffer made = {clCreateBuffer(on->context, CL_MEM_READ_WRITE, bytes, NULL, &code),
                             BEFORE};
    must(code, "clCreateBuffer");
    must(clEnqueueWriteBuffer(on->queue, made.mem, CL_TRUE, 0, bytes, all, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    free(all);
    return made;
}

/* A tensor of one replica, whose samples begin at `first`. */
static sbn_buffer make_tensor(const setup *on, const case_of *c, uint32_t seed, size_t first,
                              size_t samples)
{
    const size_t row = c->channels * c->plane, count = samples * row;
    char *elements = room(storage_size(c->type) * count);
    for (size_t k = 0; k < count; ++k) {
        const size_t within = k % row;
        const size_t channel = c->layout == SBN_LAYOUT_NCHW ? within / c->plane
                                                            : within % c->channels;
        storage_put(c->type, elements, k, element(c, seed, first * row + k, channel));
    }
    const sbn_buffer made = make_buffer(on, c->type, elements, count);
    free(elements);
    return made;
}

/* The largest ratio of bias to weight that from_output takes is 2^-4 over the type's rounding. */
static void make_channels(const case_of *c, float *weight, float *bias)
{
    const float most = c->type == SBN_F32 ? 0x1p20f : c->type == SBN_F16 ? 0x1p7f : 0x1p4f;
    for (size_t i = 0; i < c->channels; ++i) {
        weight[i] = (i % 2 ? -0.75f : 0.5f) * (i % 5 == 4 ? 0.0625f : 1.0f);
        bias[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 0.25f : 0.99f * most * weight[i];
    }
}

void side_open(side *s, const case_of *c, int from_output, const setup *on)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    float *weight = room(sizeof(float) * c->channels), *bias = room(sizeof(float) * c->channels);
    make_channels(c, weight, bias);
    config.channels = c->channels;
    config.layout = c->layout;
    config.type = c->type;
    config.activation = c->activation;
    config.slope = SIDES_SLOPE;
    config.from_output = from_output;
    must(sbn_batchnorm_create(on->group, &config, &s->layer), "sbn_batchnorm_create");
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
        shard->x = make_tensor(on, c, 11, first, samples);
        shard->dy = make_tensor(on, c, 12, first, samples);
        shard->y = make_buffer(on, c->type, NULL, s->elements[r]);
        shard->dx = make_buffer(on, c->type, NULL, s->elements[r]);
        shard->weight = make_buffer(on, SBN_F32, weight, c->channels);
        shard->bias = make_buffer(on, SBN_F32, bias, c->channels);
        shard->weight_grad = make_buffer(on, SBN_F32, NULL, c->channels);
        shard->bias_grad = make_buffer(on, SBN_F32, NULL, c->channels);
        first += samples;
    }
    free(weight);
    free(bias);
}

void side_close(side *s, const case_of *c)
{
    for (size_t r = 0; r < c->replicas; ++r) {
        const sbn_shard *shard = &s->shards[r];
        const sbn_buffer all[] = {shard->x,      shard->y,    shard->dy,          shard->dx,
                                  shard->weight, shard->bias, shard->weight_grad, shard->bias_grad};
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
            if (all[i].mem)
                clReleaseMemObject(all[i].mem);
    }
    must(sbn_saved_destroy(s->saved), "sbn_saved_destroy");
    must(sbn_batchnorm_destroy(s->layer), "sbn_batchnorm_destroy");
}
