/*
 * Backward from the output, with y over x: forward must have the bits and statistics of a layer
 * without it, and the gradients the values of output_reference.h. All types, layouts, forms, formats
 * and plans, channels near the limit of from_output, and inputs that hurt; half of the cases of
 * half of the programs unless CHECK=full.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/output_reference.h"
#include "support/programs_kept.h"
#include "support/sample.h"

static const struct {
    size_t samples, channels, plane;
    int values;
} shapes[] = {
    {3, 5, 7, VALUES_PLAIN},    {5, 37, 1, VALUES_PLAIN},    {4, 16, 48, VALUES_PLAIN},
    {3, 3, 2100, VALUES_PLAIN}, {4, 10, 67, VALUES_HARD},    {3, 7, 300, VALUES_SPECIAL},
    {9, 40, 1, VALUES_SPECIAL}, {9, 40, 1, VALUES_HARD},     {3, 5, 5001, VALUES_HARD},
    {4, 12, 300, VALUES_ANY},   {4, 16, 1500, VALUES_PLAIN}, {33, 64, 1, VALUES_PLAIN},
    {1, 5, 9, VALUES_HARD},     {2, 530, 20, VALUES_PLAIN},
};

/*
 * Programs take long to compile: those of the GPU form are fewer, and a sample has only those of
 * the list tests/pass/same, of the GPU form the first, and every second shape where there is no other form.
 */
static const struct {
    sbn_type type;
    sbn_activation activation;
    int on_gpu, in_sample;
} kinds[] = {
    {SBN_F32, SBN_LEAKY_RELU, 1, 1},  {SBN_F32, SBN_IDENTITY, 0, 0},
    {SBN_F16, SBN_LEAKY_RELU, 0, 0},  {SBN_F16, SBN_IDENTITY, 1, 1},
    {SBN_BF16, SBN_LEAKY_RELU, 0, 1}, {SBN_BF16, SBN_IDENTITY, 0, 0},
};

/* The tensor at `place` of every shard, widened. */
static float *read_tensor(const setup *on, const side *s, const case_of *c, size_t place)
{
    const size_t size = storage_size(c->type), count = c->samples * c->channels * c->plane;
    float *all = room(sizeof *all * count), *to = all;
    char *bits = room(size * count);
    for (size_t r = 0; r < c->replicas; to += s->elements[r++]) {
        const sbn_buffer *b = (const sbn_buffer *)((const char *)&s->shards[r] + place);
        if (s->elements[r] == 0)
            continue;
        must(clEnqueueReadBuffer(on->queue, b->mem, CL_TRUE, size * b->offset,
                                 size * s->elements[r], bits, 0, NULL, NULL),
             "clEnqueueReadBuffer");
        for (size_t i = 0; i < s->elements[r]; ++i)
            to[i] = storage_widen(c->type, storage_get(c->type, bits, i));
    }
    free(bits);
    return all;
}

static float *read_channels(const setup *on, const case_of *c, const sbn_buffer *b)
{
    float *all = room(sizeof *all * c->channels);
    must(clEnqueueReadBuffer(on->queue, b->mem, CL_TRUE, sizeof *all * b->offset,
                             sizeof *all * c->channels, all, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    return all;
}

#define TENSOR(s, name) read_tensor(on, s, c, offsetof(sbn_shard, name))

static void open_numbers(numbers *v, const setup *on, const case_of *c, const side *of,
                         const side *ordinary)
{
    const sbn_shard *first = of->shards;
    v->count = c->samples * c->channels * c->plane;
    v->x = TENSOR(ordinary, x);
    v->y = TENSOR(of, y);
    v->dy = TENSOR(ordinary, dy);
    v->dx = TENSOR(of, dx);
    v->ordinary = TENSOR(ordinary, dx);
    v->weight = read_channels(on, c, &first->weight);
    v->bias = read_channels(on, c, &first->bias);
    v->weight_grad = read_channels(on, c, &first->weight_grad);
    v->bias_grad = read_channels(on, c, &first->bias_grad);
    v->mean = room(sizeof(float) * c->channels);
    v->var = room(sizeof(float) * c->channels);
    must(sbn_saved_stats(of->saved, v->mean, v->var, NULL), "sbn_saved_stats");
}

static void close_numbers(const numbers *v)
{
    float *const all[] = {v->x,    v->y,           v->dy,        v->dx,   v->ordinary, v->weight,
                          v->bias, v->weight_grad, v->bias_grad, v->mean, v->var};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
}

/* y over x, or dx over dy. */
static void put_over(side *s, const case_of *c, size_t place, size_t other)
{
    for (size_t r = 0; r < c->replicas; ++r) {
        sbn_buffer *moved = (sbn_buffer *)((char *)&s->shards[r] + place);
        clReleaseMemObject(moved->mem);
        *moved = *(const sbn_buffer *)((const char *)&s->shards[r] + other);
        must(clRetainMemObject(moved->mem), "clRetainMemObject");
    }
}

/* Backward must not look at x. */
static void take_x(side *s, const case_of *c)
{
    for (size_t r = 0; r < c->replicas; ++r) {
        clReleaseMemObject(s->shards[r].x.mem);
        s->shards[r].x = (sbn_buffer)SBN_BUFFER_INIT;
    }
}

static int check_passes(const setup *on, const case_of *c, side *of, side *ordinary, double *worst,
                        char *why, size_t size)
{
    put_over(of, c, offsetof(sbn_shard, y), offsetof(sbn_shard, x));
    must(sbn_forward(of->layer, of->shards, of->saved, 0, NULL), "sbn_forward");
    must(sbn_forward(ordinary->layer, ordinary->shards, ordinary->saved, 0, NULL), "sbn_forward");
    numbers v;
    float *y = TENSOR(of, y), *expected = TENSOR(ordinary, y);
    int same = 1;
    for (size_t i = 0; i < c->samples * c->channels * c->plane && same; ++i) {
        same = storage_same(SBN_F32, storage_get(SBN_F32, y, i), storage_get(SBN_F32, expected, i));
        if (!same)
            snprintf(why, size, "y[%zu]: expected %a, got %a", i, expected[i], y[i]);
    }
    free(y);
    free(expected);
    take_x(of, c);
    if (c->plane % 2)
        put_over(of, c, offsetof(sbn_shard, dx), offsetof(sbn_shard, dy));
    must(sbn_backward(of->layer, of->shards, of->saved, SBN_GLOBAL_GRADIENTS, NULL),
         "sbn_backward");
    must(sbn_backward(ordinary->layer, ordinary->shards, ordinary->saved, SBN_GLOBAL_GRADIENTS,
                      NULL),
         "sbn_backward");
    open_numbers(&v, on, c, of, ordinary);
    same = same && output_is_right(c, &v, worst, why, size);
    close_numbers(&v);
    return same;
}

static void check(const setup *on, const case_of *c)
{
    char why[256] = "the values of float64";
    double worst = 0;
    side of, ordinary;
    side_open(&of, c, 1, on);
    side_open(&ordinary, c, 0, on);
    const int same = check_passes(on, c, &of, &ordinary, &worst, why, sizeof why);
    tap_ok(same, "%s, %s form, %s%s%s%s, mb%zuic%zuil%zu, %s, r%zu: %s (%.3g of the bound)",
           on->device, on->form == SBN_FORM_CPU ? "CPU" : "GPU", storage_name(c->type),
           c->activation == SBN_IDENTITY ? "" : ", leaky", on->on_host ? ", the host combines" : "",
           c->frozen ? ", frozen" : "", c->samples, c->channels, c->plane,
           c->layout == SBN_LAYOUT_NCHW ? "first" : "last", c->replicas, why, worst);
    side_close(&of, c);
    side_close(&ordinary, c);
}

/* Whether shape i is tried with kind k. */
static int has_case(const setup *on, size_t i, size_t k)
{
    const int on_gpu = on->form == SBN_FORM_GPU;
    if (!sample_only())
        return !on_gpu || kinds[k].on_gpu;
    return kinds[k].in_sample && (!on_gpu || k == 0) && (on->has_cpu_form || i % 4 < 2);
}

static void check_setup(setup *on, size_t replicas)
{
    setup_open_group(on, replicas);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
            if (!has_case(on, i, k))
                continue;
            case_of c = {
                .type = kinds[k].type,
                .layout = (sbn_layout)((i / 2 + k / 2) % 2),
                .samples = shapes[i].samples,
                .channels = shapes[i].channels,
                .plane = shapes[i].plane,
                .values = shapes[i].values,
                .replicas = replicas,
                .activation = kinds[k].activation,
            };
            if (!sample_only() || (i + k / 2) % 2)
                check(on, &c);
            c.layout = (sbn_layout)!c.layout;
            /* The largest floats overflow where no variance takes them out. */
            c.frozen = (i + k / 2) % 4 == 0 && (c.values != VALUES_ANY || c.type == SBN_F16);
            if (!sample_only() || (i + k / 2) % 2 == 0)
                check(on, &c);
        }
    must(sbn_group_destroy(on->group), "sbn_group_destroy");
}

static void check_device(const device_info *info)
{
    setup_each(info, check_setup);
}

int main(void)
{
    trial_usable_devices(check_device);
    programs_release();
    return tap_done();
}
