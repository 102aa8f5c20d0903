/* The library, with other settings, and with what it fuses in kernels of their own. */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/judge.h"
#include "bench/kernels.h"

/* Elements of an item of these kernels. */
enum { CPU_STRIP = 4096, GPU_STRIP = 4 };

typedef struct variant {
    scene *scene;
    job *job;  /* the scene's, or */
    problem p; /* ... one of its own */
    job own;
    outputs out;
    /* Of "separate": behind the forward pass, before the backward pass, which reads what it writes. */
    bench_kernel add, activate, gradient;
    cl_mem behind;
    sbn_shard shard;
} variant;

static int run(void *self, bench_pass pass)
{
    variant *v = self;
    if (pass == BENCH_EVALUATE)
        return job_evaluate(v->job);
    if (pass == BENCH_BACKWARD) {
        const int status = bench_enqueue(v->scene, &v->gradient);
        return status ? status : job_backward(v->job, NULL);
    }
    int status = job_forward(v->job, NULL);
    status = status ? status : bench_enqueue(v->scene, &v->add);
    return status ? status : bench_enqueue(v->scene, &v->activate);
}

static int finish(void *self)
{
    const variant *v = self;
    return job_finish(v->job);
}

/* Overwrites what the passes write, and makes them. */
static int run_again(variant *v, bench_pass last)
{
    int status = bench_overwrite(v->scene, v->job);
    status = status ? status : job_reset(v->job);
    for (bench_pass pass = BENCH_FORWARD; pass <= last && !status; ++pass)
        status = run(v, pass);
    return status ? status : finish(v);
}

static int check(void *self)
{
    variant *v = self;
    const int status = run_again(v, BENCH_EVALUATE);
    return status ? status : bench_judge_library(v->job);
}

/* Its kernels round as they like. */
static int check_separate(void *self)
{
    variant *v = self;
    const int status = run_again(v, BENCH_BACKWARD);
    return status ? status : bench_judge_results(v->scene);
}

static void close(void *self)
{
    variant *v = self;
    job_close(&v->own);
    outputs_free(&v->out);
    bench_kernel_release(&v->add);
    bench_kernel_release(&v->activate);
    bench_kernel_release(&v->gradient);
    if (v->behind)
        clReleaseMemObject(v->behind);
    free(v);
}

/* The scene's numbers in a layer of v->p, in the scene's group, queue and, if tensors are alike, buffers. */
static int open_job(variant *v)
{
    scene *s = v->scene;
    v->job = &v->own;
    v->own = (job){.p = &v->p, .g = &s->g, .in = &s->in, .out = &v->out, .error = s->error};
    return v->p.type == s->p.type && v->p.gap == s->p.gap
               ? job_open_on(&v->own, &s->job, 0, s->job.replicas, s->job.group)
               : job_open(&v->own, s->job.group, &s->replica->queue);
}

/* `p` is a problem of its own, or NULL: the scene's job. */
static int open_variant(scene *s, const char *name, const problem *p, contender_list *all)
{
    variant *v = calloc(1, sizeof *v);
    if (!v)
        return job_failed_here(s->error, name, SBN_OUT_OF_MEMORY);
    v->scene = s;
    v->job = &s->job;
    if (p)
        v->p = *p;
    all->of[all->count++] = (contender){.name = name,
                                        .passes = BENCH_TRAINING | 1 << BENCH_EVALUATE,
                                        .self = v,
                                        .run = run,
                                        .finish = finish,
                                        .check = check,
                                        .close = close};
    const int status = p ? open_job(v) : SBN_SUCCESS;
    return status ? status : job_finish(v->job);
}

static int make_separate(variant *v)
{
    scene *s = v->scene;
    const cl_mem *mem = s->job.tensors->mem;
    const int gpu = s->replica->form == SBN_FORM_GPU;
    const cl_ulong n = s->g.elements, strip = gpu ? GPU_STRIP : CPU_STRIP;
    const size_t items = (n + strip - 1) / strip, local = gpu ? 256 : 1;
    const cl_float slope = s->p.activation == SBN_RELU ? 0 : (cl_float)s->p.slope;
    int status = bench_buffer_make(s, n, &v->behind);
    if (!status && s->p.residual)
        status = bench_kernel_make(s, "separate_add",
                                   BENCH_ARGUMENTS(SBN_ARG(mem[TENSOR_RESIDUAL]),
                                                   SBN_ARG(mem[TENSOR_Y]), SBN_ARG(n),
                                                   SBN_ARG(strip)),
                                   items, local, &v->add);
    if (status || s->p.activation == SBN_IDENTITY)
        return status;
    v->shard = s->job.shards[0];
    v->shard.dy = (sbn_buffer){.mem = v->behind};
    v->own.shards = &v->shard;
    status = bench_kernel_make(s, "separate_activation",
                               BENCH_ARGUMENTS(SBN_ARG(mem[TENSOR_Y]), SBN_ARG(slope), SBN_ARG(n),
                                               SBN_ARG(strip)),
                               items, local, &v->activate);
    return status
               ? status
               : bench_kernel_make(s, "separate_gradient",
                                   BENCH_ARGUMENTS(SBN_ARG(mem[TENSOR_Y]), SBN_ARG(mem[TENSOR_DY]),
                                                   SBN_ARG(slope), SBN_ARG(v->behind), SBN_ARG(n),
                                                   SBN_ARG(strip)),
                                   items, local, &v->gradient);
}

static int open_separate(scene *s, contender_list *all)
{
    problem p = s->p;
    p.activation = SBN_IDENTITY;
    p.residual = 0;
    const int status = open_variant(s, "separate", &p, all);
    if (status)
        return status;
    contender *made = &all->of[all->count - 1];
    made->passes = BENCH_TRAINING;
    made->check = check_separate;
    return make_separate(made->self);
}

int bench_library_open(scene *s, contender_list *all)
{
    const problem *p = &s->p;
    problem f32 = *p, from_x = *p, dense = *p, alone = *p;
    f32.type = SBN_F32;
    from_x.from_output = 0;
    dense.gap = 0;
    alone.activation = SBN_IDENTITY;
    int status = open_variant(s, "syncbn", NULL, all);
    if (!status && p->type != SBN_F32)
        status = open_variant(s, "f32", &f32, all);
    else if (!status && problem_is_fused(p) && !p->gap && !p->from_output &&
             p->data == DATA_NORMAL && p->grad == DATA_NORMAL &&
             (p->activation != SBN_LEAKY_RELU || p->slope > 0))
        status = open_separate(s, all);
    if (!status && p->from_output)
        status = open_variant(s, "from x", &from_x, all);
    if (!status && p->gap)
        status = open_variant(s, "dense", &dense, all);
    if (!status && p->activation != SBN_IDENTITY && !p->residual && !p->from_output)
        status = open_variant(s, "norm alone", &alone, all);
    return status;
}
