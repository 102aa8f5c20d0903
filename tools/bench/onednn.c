/* oneDNN, through the C interface of its version 2. */
#include "bench/onednn.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/judge.h"
#include "bench/onednn_shared.h"

typedef struct layout {
    const char *name;
    dnnl_format_tag_t tag;
} layout;

static const layout layouts[BENCH_ONEDNN_LAYOUTS] = {{BENCH_ONEDNN "nchw", dnnl_nchw},
                                                     {BENCH_ONEDNN "nChw8c", dnnl_nChw8c},
                                                     {BENCH_ONEDNN "nChw16c", dnnl_nChw16c},
                                                     {BENCH_ONEDNN "nhwc", dnnl_nhwc}};

/* One layout. */
typedef struct onednn {
    onednn_shared *shared;
    const layout *layout;
    dnnl_memory_t tensor[ONEDNN_TENSORS], mean, var, weights, weights_grads;
    dnnl_primitive_t forward, backward;
} onednn;

static int execute(onednn *o, dnnl_primitive_t primitive, const dnnl_exec_arg_t *arguments,
                   int count)
{
    dnnl_status_t status = dnnl_primitive_execute(primitive, o->shared->stream, count, arguments);
    if (!status)
        status = dnnl_stream_wait(o->shared->stream);
    return status ? onednn_failed(o->shared->scene, "running a primitive", status) : SBN_SUCCESS;
}

static int run(void *self, bench_pass pass)
{
    onednn *o = self;
    const dnnl_exec_arg_t forward[] = {{DNNL_ARG_SRC, o->tensor[ONEDNN_X]},
                                       {DNNL_ARG_DST, o->tensor[ONEDNN_Y]},
                                       {DNNL_ARG_MEAN, o->mean},
                                       {DNNL_ARG_VARIANCE, o->var},
                                       {DNNL_ARG_SCALE_SHIFT, o->weights}};
    const dnnl_exec_arg_t backward[] = {{DNNL_ARG_SRC, o->tensor[ONEDNN_X]},
                                        {DNNL_ARG_DIFF_DST, o->tensor[ONEDNN_DY]},
                                        {DNNL_ARG_DIFF_SRC, o->tensor[ONEDNN_DX]},
                                        {DNNL_ARG_MEAN, o->mean},
                                        {DNNL_ARG_VARIANCE, o->var},
                                        {DNNL_ARG_SCALE_SHIFT, o->weights},
                                        {DNNL_ARG_DIFF_SCALE_SHIFT, o->weights_grads}};
    int affine = o->shared->scene->p.affine;
    return pass == BENCH_FORWARD ? execute(o, o->forward, forward, affine ? 5 : 4)
                                 : execute(o, o->backward, backward, affine ? 7 : 5);
}

/* Between nchw, as the scene's inputs are, and this layout. */
static int reorder(onednn *o, float *plain, onednn_tensor which, int into_layout)
{
    onednn_shared *sh = o->shared;
    dnnl_memory_desc_t desc;
    dnnl_memory_t nchw = NULL;
    dnnl_primitive_desc_t primitive_desc = NULL;
    dnnl_primitive_t primitive = NULL;
    const dnnl_memory_desc_t *there;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&desc, 4, sh->dims, dnnl_f32, dnnl_nchw);
    status = status ? status : dnnl_memory_create(&nchw, &desc, sh->engine, plain);
    status = status ? status : dnnl_memory_get_memory_desc(o->tensor[which], &there);
    status = status
                 ? status
                 : dnnl_reorder_primitive_desc_create(&primitive_desc, into_layout ? &desc : there,
                                                      sh->engine, into_layout ? there : &desc,
                                                      sh->engine, NULL);
    status = status ? status : dnnl_primitive_create(&primitive, primitive_desc);
    int result =
        status ? onednn_failed(sh->scene, "preparing a reorder", status)
               : execute(o, primitive,
                         (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, into_layout ? nchw : o->tensor[which]},
                                             {DNNL_ARG_TO, into_layout ? o->tensor[which] : nchw}},
                         2);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(primitive_desc);
    dnnl_memory_destroy(nchw);
    return result;
}

static int check(void *self)
{
    static const float spoilt = -7.7777e33f;
    onednn *o = self;
    onednn_shared *sh = o->shared;
    scene *s = sh->scene;
    const struct {
        onednn_tensor from;
        output_id to;
    } list[] = {{ONEDNN_Y, OUT_Y}, {ONEDNN_DX, OUT_DX}};
    float *plain = malloc(s->g.elements * sizeof *plain);
    if (!plain)
        return job_failed_here(s->error, o->layout->name, SBN_OUT_OF_MEMORY);
    for (size_t i = 0; i < sh->bytes / sizeof(float); ++i)
        sh->tensor[ONEDNN_Y][i] = sh->tensor[ONEDNN_DX][i] = spoilt;
    for (size_t c = 0; c < 2 * s->g.channels; ++c)
        sh->weights_grads[c] = spoilt;
    int status = reorder(o, s->in.x, ONEDNN_X, 1);
    status = status ? status : reorder(o, s->in.dy, ONEDNN_DY, 1);
    status = status ? status : run(o, BENCH_FORWARD);
    status = status ? status : run(o, BENCH_BACKWARD);
    for (size_t i = 0; i < 2 && !status; ++i) {
        status = reorder(o, plain, list[i].from, 0);
        status = status ? status : bench_judge_numbers(s, o->layout->name, plain, list[i].to);
    }
    free(plain);
    if (!status && s->p.affine) {
        status = bench_judge_numbers(s, o->layout->name, sh->weights_grads, OUT_WEIGHT_GRAD);
        status = status ? status
                        : bench_judge_numbers(s, o->layout->name, sh->weights_grads + s->g.channels,
                                              OUT_BIAS_GRAD);
    }
    return status;
}

static void close(void *self)
{
    onednn *o = self;
    for (int i = 0; i < ONEDNN_TENSORS; ++i)
        dnnl_memory_destroy(o->tensor[i]);
    dnnl_memory_destroy(o->mean);
    dnnl_memory_destroy(o->var);
    dnnl_memory_destroy(o->weights);
    dnnl_memory_destroy(o->weights_grads);
    dnnl_primitive_destroy(o->forward);
    dnnl_primitive_destroy(o->backward);
    onednn_shared_release(o->shared);
    free(o);
}

static dnnl_status_t make_memories(onednn *o, const dnnl_memory_desc_t *data)
{
    onednn_shared *sh = o->shared;
    dnnl_dims_t channels = {sh->dims[1]}, both = {2, sh->dims[1]};
    dnnl_memory_desc_t vector, pair;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&vector, 1, channels, dnnl_f32, dnnl_a);
    status = status ? status : dnnl_memory_desc_init_by_tag(&pair, 2, both, dnnl_f32, dnnl_ab);
    for (int i = 0; i < ONEDNN_TENSORS && !status; ++i)
        status = dnnl_memory_create(&o->tensor[i], data, sh->engine, sh->tensor[i]);
    status = status ? status : dnnl_memory_create(&o->mean, &vector, sh->engine, sh->mean);
    status = status ? status : dnnl_memory_create(&o->var, &vector, sh->engine, sh->var);
    status = status ? status : dnnl_memory_create(&o->weights, &pair, sh->engine, sh->weights);
    return status ? status
                  : dnnl_memory_create(&o->weights_grads, &pair, sh->engine, sh->weights_grads);
}

/* dnnl_unimplemented: this CPU has no such layout. */
static dnnl_status_t make_primitives(onednn *o, const dnnl_memory_desc_t *data)
{
    onednn_shared *sh = o->shared;
    float eps = (float)sh->scene->p.eps;
    unsigned flags = sh->scene->p.affine ? dnnl_use_scaleshift : dnnl_normalization_flags_none;
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t hint = NULL, backward = NULL;
    dnnl_status_t status = dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_training,
                                                                      data, eps, flags);
    status = status ? status : dnnl_primitive_desc_create(&hint, &desc, NULL, sh->engine, NULL);
    status = status ? status : dnnl_primitive_create(&o->forward, hint);
    status = status ? status
                    : dnnl_batch_normalization_backward_desc_init(&desc,
                                                                  sh->scene->p.affine
                                                                      ? dnnl_backward
                                                                      : dnnl_backward_data,
                                                                  data, data, eps, flags);
    status = status ? status : dnnl_primitive_desc_create(&backward, &desc, NULL, sh->engine, hint);
    status = status ? status : dnnl_primitive_create(&o->backward, backward);
    dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_desc_destroy(backward);
    return status;
}

static int open_layout(onednn_shared *sh, const layout *of, contender *made, size_t *count)
{
    dnnl_memory_desc_t data;
    onednn *o = calloc(1, sizeof *o);
    if (!o)
        return job_failed_here(sh->scene->error, of->name, SBN_OUT_OF_MEMORY);
    o->shared = sh;
    o->layout = of;
    ++sh->users;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&data, 4, sh->dims, dnnl_f32, of->tag);
    status = status ? status : make_memories(o, &data);
    status = status ? status : make_primitives(o, &data);
    if (status) {
        close(o);
        return status == dnnl_unimplemented
                   ? SBN_SUCCESS
                   : onednn_failed(sh->scene, "making a primitive", status);
    }
    made[(*count)++] = (contender){.name = of->name,
                                   .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD,
                                   .self = o,
                                   .run = run,
                                   .check = check,
                                   .close = close,
                                   .spins = 1};
    return SBN_SUCCESS;
}

int bench_onednn_open(scene *s, contender *made, size_t *count)
{
    onednn_shared *sh;
    *count = 0;
    int status = onednn_shared_open(s, &sh);
    if (status)
        return status;
    for (size_t i = 0; i < BENCH_ONEDNN_LAYOUTS && !status; ++i)
        status = open_layout(sh, &layouts[i], made, count);
    onednn_shared_release(sh);
    return status;
}

const char *bench_onednn_version(void)
{
    static char text[64];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
    return text;
}
