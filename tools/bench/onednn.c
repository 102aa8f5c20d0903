/* oneDNN, through its C interface (version 2). */
#include "bench/contender.h"

#ifdef HAVE_DNNL
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/judge.h"
#include "check/elements.h"

enum { PAGE = 4096, PADDING = 16 };

enum { X, DY, Y, DX, ONEDNN_TENSORS };
enum { MEAN, VAR, WEIGHT, BIAS, WEIGHT_GRAD, BIAS_GRAD, ONEDNN_VECTORS };

enum { BENCH_ONEDNN_LAYOUTS = 4 };

/* `block` channels of a pixel lie together; 0: all of them. */
typedef struct layout {
    const char *name;
    dnnl_format_tag_t tag;
    size_t block;
} layout;

static const layout layouts[BENCH_ONEDNN_LAYOUTS] = {{BENCH_ONEDNN "nchw", dnnl_nchw, 1},
                                                     {BENCH_ONEDNN "nChw8c", dnnl_nChw8c, 8},
                                                     {BENCH_ONEDNN "nChw16c", dnnl_nChw16c, 16},
                                                     {BENCH_ONEDNN "nhwc", dnnl_nhwc, 0}};

struct shared;

/* One layout. */
typedef struct onednn {
    struct shared *shared;
    const layout *layout;
    dnnl_memory_t tensor[ONEDNN_TENSORS], vector[ONEDNN_VECTORS];
    dnnl_memory_t signs; /* of what a ReLU is given; NULL without one */
    dnnl_primitive_t forward, backward;
} onednn;

/* All of them, with one memory: times do not depend on the values in it. */
typedef struct shared {
    scene *scene;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_dims_t dims;      /* N, C, H, W */
    dnnl_data_type_t type; /* of tensors; vectors are floats */
    size_t bytes;          /* of a tensor, in the layout that pads most */
    void *tensor[ONEDNN_TENSORS];
    float *vector[ONEDNN_VECTORS]; /* of C each */
    onednn of[BENCH_ONEDNN_LAYOUTS];
} shared;

static int failed(scene *s, const char *call, dnnl_status_t status)
{
    snprintf(s->error, sizeof s->error, "oneDNN: %s: status %d", call, (int)status);
    return RUNNER_SPOILT;
}

/* --- what the layouts share ----------------------------------------------------------------- */

static void *zeros(size_t bytes)
{
    void *made = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    return made ? memset(made, 0, bytes) : NULL;
}

static int fill(shared *sh)
{
    scene *s = sh->scene;
    const size_t channels = s->g.channels, vector = channels * sizeof(float);
    const size_t padded = (channels + PADDING - 1) / PADDING * PADDING;
    const int is_image = s->p.space_dims == 2;
    int missing = 0;
    /* oneDNN gets (N,C,H,W); other shapes are written as such. */
    sh->dims[0] = (dnnl_dim_t)s->g.samples;
    sh->dims[1] = (dnnl_dim_t)channels;
    sh->dims[2] = (dnnl_dim_t)(is_image ? s->p.space[0] : s->g.plane[0]);
    sh->dims[3] = is_image ? (dnnl_dim_t)s->p.space[1] : 1;
    sh->type = s->p.type == SBN_F16 ? dnnl_f16 : s->p.type == SBN_BF16 ? dnnl_bf16 : dnnl_f32;
    sh->bytes = s->g.samples * padded * s->g.plane[0] * sbn__type_size(s->p.type);
    for (int i = 0; i < ONEDNN_TENSORS; ++i)
        missing |= !(sh->tensor[i] = zeros(sh->bytes));
    for (int i = 0; i < ONEDNN_VECTORS; ++i)
        missing |= !(sh->vector[i] = zeros(vector));
    if (missing)
        return job_failed_here(s->error, "oneDNN's tensors", SBN_OUT_OF_MEMORY);
    elements_pack(s->p.type, s->in.x, s->g.elements, sh->tensor[X]);
    elements_pack(s->p.type, s->in.dy, s->g.elements, sh->tensor[DY]);
    memcpy(sh->vector[WEIGHT], s->in.weight, vector);
    memcpy(sh->vector[BIAS], s->in.bias, vector);
    dnnl_status_t status = dnnl_engine_create(&sh->engine, dnnl_cpu, 0);
    if (!status)
        status = dnnl_stream_create(&sh->stream, sh->engine, dnnl_stream_default_flags);
    return status ? failed(s, "making an engine", status) : SBN_SUCCESS;
}

/* --- a layout -------------------------------------------------------------------------------- */

/* A primitive takes of these what it has a use for. */
static int run(void *self, bench_pass pass)
{
    const onednn *o = self;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, o->tensor[X]},
                                         {DNNL_ARG_DST, o->tensor[Y]},
                                         {DNNL_ARG_DIFF_DST, o->tensor[DY]},
                                         {DNNL_ARG_DIFF_SRC, o->tensor[DX]},
                                         {DNNL_ARG_MEAN, o->vector[MEAN]},
                                         {DNNL_ARG_VARIANCE, o->vector[VAR]},
                                         {DNNL_ARG_SCALE, o->vector[WEIGHT]},
                                         {DNNL_ARG_SHIFT, o->vector[BIAS]},
                                         {DNNL_ARG_DIFF_SCALE, o->vector[WEIGHT_GRAD]},
                                         {DNNL_ARG_DIFF_SHIFT, o->vector[BIAS_GRAD]},
                                         {DNNL_ARG_WORKSPACE, o->signs}};
    dnnl_status_t status = dnnl_primitive_execute(pass == BENCH_FORWARD ? o->forward : o->backward,
                                                  o->shared->stream, 10 + (o->signs != NULL),
                                                  arguments);
    status = status ? status : dnnl_stream_wait(o->shared->stream);
    return status ? failed(o->shared->scene, "running a primitive", status) : SBN_SUCCESS;
}

/* Between the order of the scene's inputs, which is nchw, and this layout. */
static void lay_out(const onednn *o, float *plain, int which, int into)
{
    const scene *s = o->shared->scene;
    const size_t C = s->g.channels, plane = s->g.plane[0], size = sbn__type_size(s->p.type);
    const size_t block = o->layout->block ? o->layout->block : C, blocks = (C + block - 1) / block;
    char *tensor = o->shared->tensor[which];
    for (size_t n = 0; n < s->g.samples; ++n)
        for (size_t c = 0; c < C; ++c)
            for (size_t i = 0; i < plane; ++i) {
                const size_t at = ((n * blocks + c / block) * plane + i) * block + c % block;
                float *value = &plain[(n * C + c) * plane + i];
                if (into)
                    elements_pack(s->p.type, value, 1, tensor + at * size);
                else
                    elements_unpack(s->p.type, tensor + at * size, 1, value);
            }
}

static int check(void *self)
{
    onednn *o = self;
    shared *sh = o->shared;
    scene *s = sh->scene;
    float *plain = malloc(s->g.elements * sizeof *plain);
    if (!plain)
        return job_failed_here(s->error, "reading a result", SBN_OUT_OF_MEMORY);
    elements_spoil(s->p.type, sh->bytes / sbn__type_size(s->p.type), sh->tensor[Y]);
    elements_spoil(s->p.type, sh->bytes / sbn__type_size(s->p.type), sh->tensor[DX]);
    elements_spoil(SBN_F32, s->g.channels, sh->vector[WEIGHT_GRAD]);
    elements_spoil(SBN_F32, s->g.channels, sh->vector[BIAS_GRAD]);
    lay_out(o, s->in.x, X, 1);
    lay_out(o, s->in.dy, DY, 1);
    int status = run(o, BENCH_FORWARD);
    status = status ? status : run(o, BENCH_BACKWARD);
    lay_out(o, plain, Y, 0);
    status = status ? status : bench_judge_numbers(s, plain, OUT_Y);
    lay_out(o, plain, DX, 0);
    status = status ? status : bench_judge_numbers(s, plain, OUT_DX);
    free(plain);
    if (status || !s->p.affine)
        return status;
    status = bench_judge_numbers(s, sh->vector[WEIGHT_GRAD], OUT_WEIGHT_GRAD);
    return status ? status : bench_judge_numbers(s, sh->vector[BIAS_GRAD], OUT_BIAS_GRAD);
}

/* The last of the layouts closes them all. */
static void close(void *self)
{
    shared *sh = ((onednn *)self)->shared;
    for (onednn *o = sh->of; o < sh->of + BENCH_ONEDNN_LAYOUTS; ++o) {
        for (int i = 0; i < ONEDNN_TENSORS; ++i)
            dnnl_memory_destroy(o->tensor[i]);
        for (int i = 0; i < ONEDNN_VECTORS; ++i)
            dnnl_memory_destroy(o->vector[i]);
        dnnl_memory_destroy(o->signs);
        dnnl_primitive_destroy(o->forward);
        dnnl_primitive_destroy(o->backward);
    }
    for (int i = 0; i < ONEDNN_TENSORS; ++i)
        free(sh->tensor[i]);
    for (int i = 0; i < ONEDNN_VECTORS; ++i)
        free(sh->vector[i]);
    dnnl_stream_destroy(sh->stream);
    dnnl_engine_destroy(sh->engine);
    free(sh);
}

static dnnl_status_t make_memory(const shared *sh, int count, const dnnl_dims_t dims,
                                 dnnl_data_type_t type, dnnl_format_tag_t tag, void *at,
                                 dnnl_memory_t *made)
{
    dnnl_memory_desc_t desc;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&desc, count, dims, type, tag);
    return status ? status : dnnl_memory_create(made, &desc, sh->engine, at);
}

static dnnl_status_t make_memories(onednn *o)
{
    const shared *sh = o->shared;
    const dnnl_dims_t channels = {sh->dims[1]};
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < ONEDNN_TENSORS && !status; ++i)
        status = make_memory(sh, 4, sh->dims, sh->type, o->layout->tag, sh->tensor[i],
                             &o->tensor[i]);
    for (int i = 0; i < ONEDNN_VECTORS && !status; ++i)
        status = make_memory(sh, 1, channels, dnnl_f32, dnnl_a, sh->vector[i], &o->vector[i]);
    return status;
}

/* Training, with a ReLU where the problem has one: forward keeps its signs for backward. */
static dnnl_status_t make_primitives(onednn *o)
{
    const shared *sh = o->shared;
    const int affine = sh->scene->p.affine, relu = sh->scene->p.activation == SBN_RELU;
    const float eps = (float)sh->scene->p.eps;
    const unsigned flags = (affine ? dnnl_use_scale | dnnl_use_shift : 0u) |
                           (relu ? dnnl_fuse_norm_relu : 0u);
    dnnl_memory_desc_t data;
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t hint = NULL, back = NULL;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&data, 4, sh->dims, sh->type,
                                                        o->layout->tag);
    status = status ? status
                    : dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_training,
                                                                 &data, eps, flags);
    status = status ? status : dnnl_primitive_desc_create(&hint, &desc, NULL, sh->engine, NULL);
    status = status ? status : dnnl_primitive_create(&o->forward, hint);
    if (!status && relu) {
        status = dnnl_memory_create(&o->signs,
                                    dnnl_primitive_desc_query_md(hint, dnnl_query_workspace_md, 0),
                                    sh->engine, DNNL_MEMORY_ALLOCATE);
    }
    const dnnl_prop_kind_t kind = affine ? dnnl_backward : dnnl_backward_data;
    status = status ? status
                    : dnnl_batch_normalization_backward_desc_init(&desc, kind, &data, &data, eps,
                                                                  flags);
    status = status ? status : dnnl_primitive_desc_create(&back, &desc, NULL, sh->engine, hint);
    status = status ? status : dnnl_primitive_create(&o->backward, back);
    dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_desc_destroy(back);
    return status;
}

static int open_layout(onednn *o, contender_list *all)
{
    dnnl_status_t status = make_memories(o);
    status = status ? status : make_primitives(o);
    /* Not on this CPU. */
    if (status)
        return status == dnnl_unimplemented
                   ? SBN_SUCCESS
                   : failed(o->shared->scene, "making a primitive", status);
    all->of[all->count++] = (contender){.name = o->layout->name,
                                        .passes = BENCH_TRAINING,
                                        .self = o,
                                        .run = run,
                                        .check = check,
                                        .spins = 1};
    return SBN_SUCCESS;
}

int bench_onednn_open(scene *s, contender_list *all)
{
    if (problem_is_fused(&s->p) && (s->p.activation != SBN_RELU || s->p.residual))
        return SBN_SUCCESS;
    const size_t before = all->count;
    shared *sh = calloc(1, sizeof *sh);
    if (!sh)
        return job_failed_here(s->error, "oneDNN", SBN_OUT_OF_MEMORY);
    sh->scene = s;
    int status = fill(sh);
    for (size_t i = 0; i < BENCH_ONEDNN_LAYOUTS; ++i) {
        sh->of[i].shared = sh;
        sh->of[i].layout = &layouts[i];
        status = status ? status : open_layout(&sh->of[i], all);
    }
    if (all->count > before)
        all->of[all->count - 1].close = close;
    else
        close(sh->of);
    return status;
}

const char *bench_onednn_version(void)
{
    static char text[64];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

#else

int bench_onednn_open(scene *s, contender_list *all)
{
    (void)s, (void)all;
    return SBN_SUCCESS;
}

const char *bench_onednn_version(void)
{
    return NULL;
}
#endif
