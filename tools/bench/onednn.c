/* oneDNN, through its C interface. */
#include "bench/onednn.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/judge.h"
#include "bench/onednn_shared.h"
#include "check/elements.h"

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
    dnnl_memory_t tensor[ONEDNN_TENSORS], vector[ONEDNN_VECTORS];
    dnnl_memory_t signs; /* of what a ReLU is given; NULL without one */
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
    dnnl_exec_arg_t forward[7] = {{DNNL_ARG_SRC, o->tensor[ONEDNN_X]},
                                  {DNNL_ARG_DST, o->tensor[ONEDNN_Y]},
                                  {DNNL_ARG_MEAN, o->vector[ONEDNN_MEAN]},
                                  {DNNL_ARG_VARIANCE, o->vector[ONEDNN_VAR]},
                                  {DNNL_ARG_SCALE, o->vector[ONEDNN_WEIGHT]},
                                  {DNNL_ARG_SHIFT, o->vector[ONEDNN_BIAS]}};
    dnnl_exec_arg_t backward[10] = {{DNNL_ARG_SRC, o->tensor[ONEDNN_X]},
                                    {DNNL_ARG_DIFF_DST, o->tensor[ONEDNN_DY]},
                                    {DNNL_ARG_DIFF_SRC, o->tensor[ONEDNN_DX]},
                                    {DNNL_ARG_MEAN, o->vector[ONEDNN_MEAN]},
                                    {DNNL_ARG_VARIANCE, o->vector[ONEDNN_VAR]},
                                    {DNNL_ARG_SCALE, o->vector[ONEDNN_WEIGHT]},
                                    {DNNL_ARG_DIFF_SCALE, o->vector[ONEDNN_WEIGHT_GRAD]},
                                    {DNNL_ARG_DIFF_SHIFT, o->vector[ONEDNN_BIAS_GRAD]},
                                    {DNNL_ARG_SHIFT, o->vector[ONEDNN_BIAS]}};
    const int affine = o->shared->scene->p.affine, relu = o->signs != NULL;
    const int forwards = affine ? 6 : 4, backwards = affine ? 9 : 5;
    forward[forwards] = backward[backwards] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, o->signs};
    return pass == BENCH_FORWARD ? execute(o, o->forward, forward, forwards + relu)
                                 : execute(o, o->backward, backward, backwards + relu);
}

/* Reorders between nchw, the layout of the scene's inputs, and this one. */
static int reorder(onednn *o, float *plain, onednn_tensor which, int into_layout)
{
    onednn_shared *sh = o->shared;
    dnnl_memory_t nchw = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_status_t status = onednn_memory(sh, 4, sh->dims, dnnl_f32, dnnl_nchw, plain, &nchw);
    const dnnl_memory_t from = into_layout ? nchw : o->tensor[which];
    const dnnl_memory_t to = into_layout ? o->tensor[which] : nchw;
    status = status ? status : onednn_reorder(sh, from, to, &primitive);
    int result = status ? onednn_failed(sh->scene, "preparing a reorder", status)
                        : execute(o, primitive,
                                  (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, 2);
    dnnl_primitive_destroy(primitive);
    dnnl_memory_destroy(nchw);
    return result;
}

static int check(void *self)
{
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
    for (size_t i = 0; i < 2; ++i)
        elements_spoil(s->p.type, sh->bytes / element_size(s->p.type), sh->tensor[list[i].from]);
    elements_spoil(SBN_F32, s->g.channels, sh->vector[ONEDNN_WEIGHT_GRAD]);
    elements_spoil(SBN_F32, s->g.channels, sh->vector[ONEDNN_BIAS_GRAD]);
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
        status = bench_judge_numbers(s, o->layout->name, sh->vector[ONEDNN_WEIGHT_GRAD],
                                     OUT_WEIGHT_GRAD);
        status = status ? status
                        : bench_judge_numbers(s, o->layout->name, sh->vector[ONEDNN_BIAS_GRAD],
                                              OUT_BIAS_GRAD);
    }
    return status;
}

static void close(void *self)
{
    onednn *o = self;
    for (int i = 0; i < ONEDNN_TENSORS; ++i)
        dnnl_memory_destroy(o->tensor[i]);
    for (int i = 0; i < ONEDNN_VECTORS; ++i)
        dnnl_memory_destroy(o->vector[i]);
    dnnl_memory_destroy(o->signs);
    dnnl_primitive_destroy(o->forward);
    dnnl_primitive_destroy(o->backward);
    onednn_shared_release(o->shared);
    free(o);
}

static dnnl_status_t make_memories(onednn *o)
{
    onednn_shared *sh = o->shared;
    const dnnl_dims_t channels = {sh->dims[1]};
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < ONEDNN_TENSORS && !status; ++i)
        status = onednn_memory(sh, 4, sh->dims, sh->type, o->layout->tag, sh->tensor[i],
                               &o->tensor[i]);
    for (int i = 0; i < ONEDNN_VECTORS && !status; ++i)
        status = onednn_memory(sh, 1, channels, dnnl_f32, dnnl_a, sh->vector[i], &o->vector[i]);
    return status;
}

static int open_layout(onednn_shared *sh, const layout *of, contender *made, size_t *count)
{
    onednn *o = calloc(1, sizeof *o);
    if (!o)
        return job_failed_here(sh->scene->error, of->name, SBN_OUT_OF_MEMORY);
    o->shared = sh;
    o->layout = of;
    ++sh->users;
    dnnl_status_t status = make_memories(o);
    status = status ? status
                    : onednn_batch_normalization(sh, of->tag, &o->forward, &o->backward, &o->signs);
    /* Not on this CPU. */
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
    if (problem_is_fused(&s->p) && (s->p.activation != SBN_RELU || s->p.residual))
        return SBN_SUCCESS;
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
