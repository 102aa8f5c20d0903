/*
 * Views: tensors whose samples or pixels lie apart, as slices of the channels of wider ones, each
 * with a pitch of its own. Every pass has the bits of dense tensors, in both forms, in one launch,
 * by two replicas and by the host, of every type; what lies between the rows stays as it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/type.h"
#include "group/group.h"

#include "support/fixture.h"
#include "support/programs_kept.h"
#include "support/sample.h"

enum {
    X,
    Y,
    DY,
    DX,
    VIEWED,
    RESIDUAL = VIEWED,
    RESIDUAL_GRAD,
    TENSORS,
    PARAMETERS = 4,
    MOST_REPLICAS = 2,
    GUARD = 0x2a
};

typedef struct problem {
    size_t samples, channels, plane;
    sbn_layout layout;
    sbn_type type;
    sbn_activation activation;
    int residual;
} problem;

static const problem problems[] = {
    {5, 37, 64, SBN_LAYOUT_NCHW, SBN_F32, SBN_IDENTITY, 0},
    {3, 33, 300, SBN_LAYOUT_NCHW, SBN_F16, SBN_LEAKY_RELU, 0},
    {2, 7, 1104, SBN_LAYOUT_NCHW, SBN_BF16, SBN_IDENTITY, 0},
    {6, 19, 9, SBN_LAYOUT_NCHW, SBN_F32, SBN_IDENTITY, 0},
    {4, 21, 35, SBN_LAYOUT_NCHW, SBN_F32, SBN_RELU, 1},
    {6, 20, 4, SBN_LAYOUT_NCHW, SBN_BF16, SBN_IDENTITY, 0},
    {3, 33, 35, SBN_LAYOUT_NHWC, SBN_F32, SBN_IDENTITY, 0},
    {2, 64, 300, SBN_LAYOUT_NHWC, SBN_BF16, SBN_IDENTITY, 0},
    {4, 130, 7, SBN_LAYOUT_NHWC, SBN_F32, SBN_RELU, 1},
    {150, 37, 1, SBN_LAYOUT_NCHW, SBN_F32, SBN_IDENTITY, 0},
    {9, 40, 1, SBN_LAYOUT_NHWC, SBN_F16, SBN_LEAKY_RELU, 0},
};

/* Elements of others between rows, of x, y, dy and dx: none, few, and whole vectors. */
typedef struct gaps {
    const char *name;
    size_t of[VIEWED];
} gaps;

static const gaps dense = {"dense", {0, 0, 0, 0}};
static const gaps views[] = {
    {"all views", {3, 5, 7, 1}},
    {"all views of aligned rows", {64, 192, 128, 64}},
    {"x alone", {48, 0, 0, 0}},
    {"dy and dx", {0, 0, 11, 13}},
};

/* How passes are made: by one launch of one replica, apart, and combined by the host. */
enum { AT_ONCE, APART, BY_HOST, WAYS };

static const char *const ways[] = {"at once", "by two replicas", "by the host"};

static fixture device;
static cl_command_queue queue;

static size_t row_of(const problem *p)
{
    return p->layout == SBN_LAYOUT_NCHW ? p->channels * p->plane : p->channels;
}

static size_t elements_of(const problem *p)
{
    return p->samples * p->channels * p->plane;
}

/* A tensor's rows from `first` on, in a buffer of guards, and what the buffer held at first. */
typedef struct tensor {
    size_t size, row, rows, pitch, offset, bytes; /* in elements; `size`: bytes of one */
    unsigned char *was;
    cl_mem mem;
} tensor;

static void tensor_open(tensor *t, const problem *p, size_t rows, size_t gap,
                        const unsigned char *from)
{
    cl_int code;
    *t = (tensor){sbn__type_size(p->type), row_of(p), rows, row_of(p) + gap,
                  gap ? gap / 2 : 0,       0,         NULL, NULL};
    t->bytes = t->size * (t->offset + (rows > 0 ? (rows - 1) * t->pitch + t->row : 0) + gap + 1);
    t->was = malloc(t->bytes);
    must(!t->was, "malloc");
    memset(t->was, GUARD, t->bytes);
    for (size_t r = 0; r < rows && from; ++r)
        memcpy(t->was + (t->offset + r * t->pitch) * t->size, from + r * t->row * t->size,
               t->row * t->size);
    t->mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, t->bytes,
                            t->was, &code);
    must(code, "clCreateBuffer");
}

/* Takes the rows out, and tells whether the guards are whole. */
static int tensor_read(const tensor *t, unsigned char *to)
{
    unsigned char *now = malloc(t->bytes);
    must(!now, "malloc");
    must(clEnqueueReadBuffer(queue, t->mem, CL_TRUE, 0, t->bytes, now, 0, NULL, NULL), "read");
    for (size_t r = 0; r < t->rows; ++r) {
        unsigned char *row = now + (t->offset + r * t->pitch) * t->size;
        memcpy(to + r * t->row * t->size, row, t->row * t->size);
        memset(row, GUARD, t->row * t->size);
    }
    size_t changed = 0;
    for (size_t i = 0; i < t->bytes; ++i)
        changed += now[i] != GUARD;
    free(now);
    return changed == 0;
}

static void tensor_close(tensor *t)
{
    clReleaseMemObject(t->mem);
    free(t->was);
}

/* Numbers between 1/4 and 4, in bits of the type. */
static void fill(const problem *p, unsigned seed, unsigned char *to)
{
    const size_t size = sbn__type_size(p->type);
    unsigned state = seed;
    for (size_t i = 0; i < elements_of(p); ++i) {
        state = 1664525 * state + 1013904223;
        const unsigned sign = state >> 31, some = state >> 8 & 0x3ffff;
        const uint32_t bits = p->type == SBN_F32    ? sign << 31 | (0x3e800000 + (some << 7))
                              : p->type == SBN_BF16 ? sign << 15 | (0x3e80 + (some & 0x1ff))
                                                    : sign << 15 | (0x3400 + (some & 0xfff));
        const uint16_t half = (uint16_t)bits;
        memcpy(to + i * size, size == 4 ? (const void *)&bits : (const void *)&half, size);
    }
}

/* What the passes leave; evaluation and one of the backward passes are in place. */
enum {
    FORWARD,
    BACKWARD,
    RESIDUAL_BACK,
    EVALUATED,
    RECOMPUTED,
    IN_PLACE,
    FROZEN,
    FROZEN_BACK,
    OUTPUTS
};

typedef struct outcome {
    unsigned char *of[OUTPUTS];
    float gradients[2 * 256];
    int guards;
} outcome;

static void outcome_open(outcome *o, const problem *p)
{
    memset(o, 0, sizeof *o);
    o->guards = 1;
    for (int i = 0; i < OUTPUTS; ++i) {
        o->of[i] = calloc(elements_of(p), sizeof(float));
        must(!o->of[i], "calloc");
    }
}

static void outcome_close(outcome *o)
{
    for (int i = 0; i < OUTPUTS; ++i)
        free(o->of[i]);
}

typedef struct session {
    const problem *p;
    size_t replicas, samples[MOST_REPLICAS];
    tensor tensors[MOST_REPLICAS][TENSORS];
    sbn_shard shards[MOST_REPLICAS];
    outcome *out;
} session;

/* Reads a tensor of all replicas, one behind the other. */
static void collect(session *s, int which, int output)
{
    unsigned char *to = s->out->of[output];
    for (size_t r = 0; r < s->replicas; ++r) {
        const tensor *t = &s->tensors[r][which];
        s->out->guards = tensor_read(t, to) && s->out->guards;
        to += t->rows * t->row * t->size;
    }
}

static void open_session(session *s, const gaps *g, cl_mem parameters)
{
    const problem *p = s->p;
    const size_t rows_of_sample = p->layout == SBN_LAYOUT_NCHW ? 1 : p->plane;
    unsigned char *values[TENSORS] = {NULL};
    for (int i = X; i <= RESIDUAL; i += DY - X) {
        values[i] = malloc(sizeof(float) * elements_of(p));
        must(!values[i], "malloc");
        fill(p, 7 + (unsigned)i, values[i]);
    }
    size_t from = 0;
    for (size_t r = 0; r < s->replicas; ++r) {
        const size_t rows = s->samples[r] * rows_of_sample, bytes = sbn__type_size(p->type);
        sbn_shard *shard = &s->shards[r];
        sbn_buffer *const buffers[] = {&shard->x,  &shard->y,        &shard->dy,
                                       &shard->dx, &shard->residual, &shard->residual_grad};
        size_t *const pitches[] = {&shard->x_pitch, &shard->y_pitch, &shard->dy_pitch,
                                   &shard->dx_pitch};
        *shard = (sbn_shard){.size = sizeof *shard,
                             .dims = p->plane == 1 ? 2 : 3,
                             .shape = {s->samples[r], p->channels, p->plane}};
        for (int i = 0; i < TENSORS; ++i) {
            tensor *t = &s->tensors[r][i];
            tensor_open(t, p, rows, i < VIEWED ? g->of[i] : 0,
                        values[i] ? values[i] + from * bytes : NULL);
            *buffers[i] = (sbn_buffer){t->mem, t->offset};
            if (i < VIEWED)
                *pitches[i] = g->of[i] ? t->pitch : 0;
        }
        shard->weight = (sbn_buffer){parameters, 0};
        shard->bias = (sbn_buffer){parameters, p->channels};
        shard->weight_grad = (sbn_buffer){parameters, (2 + 2 * r) * p->channels};
        shard->bias_grad = (sbn_buffer){parameters, (3 + 2 * r) * p->channels};
        from += rows * row_of(p);
    }
    for (int i = 0; i < TENSORS; ++i)
        free(values[i]);
}

static void in_place(session *s)
{
    for (size_t r = 0; r < s->replicas; ++r) {
        sbn_shard *shard = &s->shards[r];
        shard->y = shard->x;
        shard->y_pitch = shard->x_pitch;
        shard->dx = shard->dy;
        shard->dx_pitch = shard->dy_pitch;
    }
}

static void run_passes(session *s, sbn_batchnorm *layer, sbn_saved *saved)
{
    must(sbn_forward(layer, s->shards, saved, 0, NULL), sbn_last_error());
    collect(s, Y, FORWARD);
    must(sbn_backward(layer, s->shards, saved, 0, NULL), sbn_last_error());
    collect(s, DX, BACKWARD);
    collect(s, RESIDUAL_GRAD, RESIDUAL_BACK);
    must(sbn_recompute(layer, s->shards, saved), sbn_last_error());
    collect(s, Y, RECOMPUTED);
    must(sbn_batchnorm_set_frozen(layer, 1), sbn_last_error());
    must(sbn_forward(layer, s->shards, saved, 0, NULL), sbn_last_error());
    collect(s, Y, FROZEN);
    must(sbn_backward(layer, s->shards, saved, 0, NULL), sbn_last_error());
    collect(s, DX, FROZEN_BACK);
    must(sbn_batchnorm_set_frozen(layer, 0), sbn_last_error());
    must(sbn_forward(layer, s->shards, saved, 0, NULL), sbn_last_error());
    in_place(s);
    must(sbn_backward(layer, s->shards, saved, 0, NULL), sbn_last_error());
    collect(s, DY, IN_PLACE);
    must(sbn_evaluate(layer, s->shards), sbn_last_error());
    collect(s, X, EVALUATED);
}

static void run(const problem *p, const gaps *g, int way, sbn_kernel_form form, outcome *out)
{
    const cl_command_queue queues[] = {queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    static float values[(2 + PARAMETERS) * 256];
    cl_int code;
    session s = {.p = p, .replicas = way == APART ? 2 : 1, .out = out};
    s.samples[0] = way == APART ? p->samples / 2 : p->samples;
    s.samples[1] = p->samples - s.samples[0];
    config.queues = queues;
    config.replicas = s.replicas;
    config.form = form;
    must(sbn_group_create(&config, &group), sbn_last_error());
    if (way == BY_HOST)
        group->combines = 0;
    settings.channels = p->channels;
    settings.layout = p->layout;
    settings.type = p->type;
    settings.activation = p->activation;
    settings.residual = p->residual;
    must(sbn_batchnorm_create(group, &settings, &layer), sbn_last_error());
    must(sbn_saved_create(layer, &saved), sbn_last_error());
    for (size_t i = 0; i < 2 * p->channels; ++i)
        values[i] = (float)(1 + i % 7) / 4;
    cl_mem parameters = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       sizeof values, values, &code);
    must(code, "clCreateBuffer");
    open_session(&s, g, parameters);
    run_passes(&s, layer, saved);
    must(clEnqueueReadBuffer(queue, parameters, CL_TRUE, sizeof(float) * 2 * p->channels,
                             sizeof(float) * 2 * p->channels, out->gradients, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    for (size_t r = 0; r < s.replicas; ++r)
        for (int i = 0; i < TENSORS; ++i)
            tensor_close(&s.tensors[r][i]);
    clReleaseMemObject(parameters);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    must(sbn_group_destroy(group), sbn_last_error());
}

static void check(const problem *p, int way, sbn_kernel_form form)
{
    static const char *const names[OUTPUTS] = {
        [FORWARD] = "y",
        [BACKWARD] = "dx",
        [RESIDUAL_BACK] = "the residual's gradient",
        [EVALUATED] = "y of evaluation",
        [RECOMPUTED] = "y of recomputation",
        [IN_PLACE] = "dx in place",
        [FROZEN] = "y of the frozen layer",
        [FROZEN_BACK] = "dx of the frozen layer",
    };
    outcome right;
    outcome_open(&right, p);
    run(p, &dense, way, form, &right);
    for (size_t v = 0; v < sizeof views / sizeof *views; ++v) {
        outcome got;
        const char *wrong = NULL;
        outcome_open(&got, p);
        run(p, &views[v], way, form, &got);
        for (int i = 0; i < OUTPUTS && !wrong; ++i)
            if (memcmp(got.of[i], right.of[i], sbn__type_size(p->type) * elements_of(p)) != 0)
                wrong = names[i];
        if (memcmp(got.gradients, right.gradients, sizeof got.gradients) != 0)
            wrong = wrong ? wrong : "the gradients of weight and bias";
        tap_ok(!wrong && got.guards && right.guards,
               "%s, (%zu,%zu,%zu) of %s, channels %s%s%s, %s, %s form: bits of %s, guards %s",
               views[v].name, p->samples, p->channels, p->plane, sbn__type_name(p->type),
               p->layout == SBN_LAYOUT_NHWC ? "last" : "first",
               p->activation == SBN_RELU         ? ", ReLU"
               : p->activation == SBN_LEAKY_RELU ? ", leaky ReLU"
                                                 : "",
               p->residual ? ", residual" : "", ways[way], form == SBN_FORM_GPU ? "GPU" : "CPU",
               wrong ? wrong : "dense tensors", got.guards ? "whole" : "written");
        outcome_close(&got);
    }
    outcome_close(&right);
}

static void checks(void)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; ++i) {
        for (int way = AT_ONCE; way < WAYS; ++way)
            check(&problems[i], way, SBN_FORM_CPU);
        /* Kernels take long to compile: a sample has those of the GPU form for floats. */
        if (!sample_only() || problems[i].type == SBN_F32)
            check(&problems[i], APART, SBN_FORM_GPU);
    }
    programs_release();
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
