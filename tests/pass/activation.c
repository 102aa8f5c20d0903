/*
 * Activation and residual fused into the passes against the same apart: a layer with a fusion must
 * write, bit for bit, what a layer of floats without one writes between an addition and an
 * activation that are done here. All passes, types, layouts, forms, formats and plans.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "pass/types.h"
#include "support/programs_kept.h"
#include "support/sample.h"

/* Rows that fill words of a mask, and rows that do not; planes of both walks of the GPU form. */
static const struct {
    size_t samples, channels, plane;
    int values;
} shapes[] = {
    {3, 5, 7, VALUES_PLAIN},     {5, 37, 1, VALUES_PLAIN},   {4, 16, 48, VALUES_PLAIN},
    {3, 3, 2100, VALUES_PLAIN},  {4, 3, 67, VALUES_ANY},     {3, 7, 300, VALUES_SPECIAL},
    {9, 40, 1, VALUES_SPECIAL},  {4, 40, 5, VALUES_SPECIAL}, {3, 3, 5001, VALUES_PLAIN},
    {4, 16, 1500, VALUES_PLAIN}, {33, 64, 1, VALUES_PLAIN},  {2, 530, 20, VALUES_PLAIN},
};

/*
 * Programs take long to compile: those of the GPU form are fewer, and a sample has those that other
 * tests compile, too.
 */
typedef enum choice { NEVER, IN_FULL, ALWAYS } choice;

static const struct {
    sbn_type type;
    sbn_activation activation;
    int residual;
    choice in_form[2]; /* CPU, GPU */
    const char *name;
} fusions[] = {
    {SBN_F32, SBN_RELU, 0, {ALWAYS, IN_FULL}, "relu"},
    {SBN_F32, SBN_LEAKY_RELU, 0, {IN_FULL, NEVER}, "leaky"},
    {SBN_F32, SBN_IDENTITY, 1, {ALWAYS, NEVER}, "add"},
    {SBN_F32, SBN_RELU, 1, {ALWAYS, ALWAYS}, "add, relu"},
    {SBN_F32, SBN_LEAKY_RELU, 1, {IN_FULL, NEVER}, "add, leaky"},
    {SBN_F16, SBN_LEAKY_RELU, 0, {ALWAYS, IN_FULL}, "leaky"},
    {SBN_F16, SBN_IDENTITY, 1, {IN_FULL, NEVER}, "add"},
    {SBN_F16, SBN_RELU, 1, {IN_FULL, NEVER}, "add, relu"},
    {SBN_F16, SBN_RELU, 0, {IN_FULL, NEVER}, "relu"},
    {SBN_BF16, SBN_LEAKY_RELU, 0, {IN_FULL, NEVER}, "leaky"},
    {SBN_BF16, SBN_LEAKY_RELU, 1, {ALWAYS, IN_FULL}, "add, leaky"},
};

enum { FUSIONS = sizeof fusions / sizeof *fusions };

/* What stands where in the backward pass. */
typedef enum arrangement {
    APART,
    DX_OVER_DY,
    RESIDUAL_GRAD_OVER_DY,
    NO_DX,
    NO_RESIDUAL_GRAD,
    ARRANGEMENTS
} arrangement;

static const char *const arrangements[ARRANGEMENTS] = {"apart", "dx over dy",
                                                       "residual_grad over dy", "no dx",
                                                       "no residual_grad"};

/* The two layers, and z of the forward pass. */
typedef struct pair {
    const setup *on;
    const case_of *c;
    side fused, apart;
    float *z[TYPES_REPLICAS];
} pair;

/* As PyTorch's. */
static int passes(const case_of *c, float z)
{
    return c->activation == SBN_IDENTITY || (c->activation == SBN_RELU ? !(z <= 0.0f) : z > 0.0f);
}

static float share(const case_of *c, float v)
{
    return c->activation == SBN_RELU ? 0.0f : v * TYPES_SLOPE;
}

static float activated(const case_of *c, float z, float v)
{
    return passes(c, z) ? v : share(c, v);
}

/* Of the layer apart: adds the residual to its y, and activates. */
static void finish(pair *p)
{
    const side *s = &p->apart;
    for (size_t r = 0; r < p->c->replicas; ++r) {
        float *residual = room(sizeof(float) * s->elements[r]), *z = p->z[r];
        side_read(s, r, &s->shards[r].y, p->on->queue, z);
        side_read(s, r, &s->shards[r].residual, p->on->queue, residual);
        for (size_t i = 0; i < s->elements[r]; ++i) {
            if (p->c->residual)
                z[i] += residual[i];
            residual[i] = activated(p->c, z[i], z[i]) + 0.0f;
        }
        side_write(s, r, &s->shards[r].y, p->on->queue, residual);
        free(residual);
    }
}

/* Of the layer apart: turns dy into the gradient of z, which is that of the residual. */
static void begin_backward(pair *p)
{
    const side *s = &p->apart;
    for (size_t r = 0; r < p->c->replicas; ++r) {
        float *dy = room(sizeof(float) * s->elements[r]);
        side_read(s, r, &s->shards[r].dy, p->on->queue, dy);
        for (size_t i = 0; i < s->elements[r]; ++i)
            dy[i] = activated(p->c, p->z[r][i], dy[i]);
        side_write(s, r, &s->shards[r].dy, p->on->queue, dy);
        for (size_t i = 0; i < s->elements[r]; ++i)
            dy[i] += 0.0f;
        side_write(s, r, &s->shards[r].residual_grad, p->on->queue, dy);
        free(dy);
    }
}

/* Moves one buffer of every shard over another. */
static void put_over(side *s, size_t replicas, size_t place, size_t other)
{
    for (size_t r = 0; r < replicas; ++r) {
        sbn_buffer *moved = (sbn_buffer *)((char *)&s->shards[r] + place);
        const sbn_buffer *onto = (const sbn_buffer *)((const char *)&s->shards[r] + other);
        clReleaseMemObject(moved->mem);
        *moved = *onto;
        must(clRetainMemObject(moved->mem), "clRetainMemObject");
    }
}

static void leave_out(side *s, size_t replicas, size_t place)
{
    for (size_t r = 0; r < replicas; ++r) {
        sbn_buffer *missing = (sbn_buffer *)((char *)&s->shards[r] + place);
        clReleaseMemObject(missing->mem);
        *missing = (sbn_buffer)SBN_BUFFER_INIT;
    }
}

enum {
    Y = offsetof(sbn_shard, y),
    X = offsetof(sbn_shard, x),
    DY = offsetof(sbn_shard, dy),
    DX = offsetof(sbn_shard, dx),
    RESIDUAL_GRAD = offsetof(sbn_shard, residual_grad)
};

static int agree(pair *p, size_t place, const char *what, char *why, size_t size)
{
    char at[160];
    if (sides_agree(&p->fused, &p->apart, p->c, place, p->on->queue, at, sizeof at))
        return 1;
    snprintf(why, size, "%s: %s", what, at);
    return 0;
}

static int check_backward(pair *p, arrangement where, char *why, size_t size)
{
    side *s = &p->fused;
    const size_t n = p->c->replicas;
    begin_backward(p);
    if (where == DX_OVER_DY)
        put_over(s, n, DX, DY);
    if (where == RESIDUAL_GRAD_OVER_DY)
        put_over(s, n, RESIDUAL_GRAD, DY);
    if (where == NO_DX)
        leave_out(s, n, DX);
    if (where == NO_RESIDUAL_GRAD)
        leave_out(s, n, RESIDUAL_GRAD);
    must(sbn_backward(s->layer, s->shards, s->saved, 0, NULL), "sbn_backward");
    must(sbn_backward(p->apart.layer, p->apart.shards, p->apart.saved, 0, NULL), "sbn_backward");
    return (where == NO_DX || agree(p, DX, "dx", why, size)) &&
           (where == NO_RESIDUAL_GRAD || !p->c->residual ||
            agree(p, RESIDUAL_GRAD, "residual_grad", why, size)) &&
           sides_agree_in_channels(s, &p->apart, p->c, p->on->queue, why, size);
}

static int check_passes(pair *p, arrangement where, char *why, size_t size)
{
    side *s = &p->fused, *t = &p->apart;
    must(sbn_forward(s->layer, s->shards, s->saved, 0, NULL), "sbn_forward");
    must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "sbn_forward");
    finish(p);
    if (!agree(p, Y, "forward", why, size) || !check_backward(p, where, why, size))
        return 0;
    must(sbn_recompute(s->layer, s->shards, s->saved), "sbn_recompute");
    must(sbn_recompute(t->layer, t->shards, t->saved), "sbn_recompute");
    finish(p);
    if (!agree(p, Y, "recomputation", why, size))
        return 0;
    if (where == DX_OVER_DY)
        put_over(s, p->c->replicas, Y, X);
    must(sbn_evaluate(s->layer, s->shards), "sbn_evaluate");
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    finish(p);
    return agree(p, Y, "evaluation", why, size);
}

static void check(const setup *on, const case_of *c, arrangement where, const char *fusion)
{
    char why[256] = "";
    pair p = {.on = on, .c = c};
    side_open(&p.fused, c, c->type, 1, on->group, on->context, on->queue);
    side_open(&p.apart, c, SBN_F32, 0, on->group, on->context, on->queue);
    for (size_t r = 0; r < c->replicas; ++r)
        p.z[r] = room(sizeof(float) * p.apart.elements[r]);
    const int same = check_passes(&p, where, why, sizeof why);
    tap_ok(same, "%s, %s form, %s, %s%s%s, mb%zuic%zuil%zu, %s, r%zu, %s: %s", on->device,
           on->form == SBN_FORM_CPU ? "CPU" : "GPU", storage_name(c->type), fusion,
           on->on_host ? ", the host combines" : "", c->frozen ? ", frozen" : "", c->samples,
           c->channels, c->plane, c->layout == SBN_LAYOUT_NCHW ? "first" : "last", c->replicas,
           arrangements[where], same ? "the same bits" : why);
    for (size_t r = 0; r < c->replicas; ++r)
        free(p.z[r]);
    side_close(&p.fused, c);
    side_close(&p.apart, c);
}

static void check_setup(setup *on, size_t replicas)
{
    setup_open_group(on, replicas);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (size_t f = 0; f < FUSIONS; ++f) {
            if (fusions[f].in_form[on->form == SBN_FORM_GPU] < (sample_only() ? ALWAYS : IN_FULL))
                continue;
            const case_of c = {
                .type = fusions[f].type,
                .layout = (sbn_layout)((i + f) / 3 % 2),
                .samples = shapes[i].samples,
                .channels = shapes[i].channels,
                .plane = shapes[i].plane,
                .values = shapes[i].values,
                .replicas = replicas,
                .activation = fusions[f].activation,
                .residual = fusions[f].residual,
                .flushes = on->flushes,
            };
            case_of other = c;
            other.layout = (sbn_layout)!c.layout;
            other.frozen = (i + f) % 2 == 0;
            const arrangement where = (arrangement)((2 * i + f) %
                                                    (c.residual ? ARRANGEMENTS : DX_OVER_DY + 1));
            /* llvmpipe takes long: a sample has one of the two there. */
            const int one = sample_only() && !on->has_cpu_form;
            if (!one || i % 2 == 0)
                check(on, &c, where, fusions[f].name);
            if (!one || i % 2)
                check(on, &other, APART, fusions[f].name);
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
