/* The library with other settings, and with what it fuses in kernels of their own. */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/judge.h"
#include "bench/kernels.h"

/* Elements of an item of these kernels. */
enum { CPU_STRIP = 4096, GPU_STRIP = 4 };

typedef struct variant {
    scene *scene;
    const char *name;
    problem p;
    job job;
    outputs out;
    int borrows; /* the scene's buffers */
    /* Of "separate": behind the forward pass, before the backward pass, which reads what it writes. */
    bench_kernel add, activate, gradient;
    cl_mem behind;
    sbn_shard shard;
} variant;

static int enqueue(const variant *v, const bench_kernel *k)
{
    return k->kernel ? bench_enqueue(v->scene, k) : SBN_SUCCESS;
}

static int run(void *self, bench_pass pass)
{
    variant *v = self;
    int status = pass == BENCH_BACKWARD ? enqueue(v, &v->gradient) : SBN_SUCCESS;
    status = status ? status : bench_job_run(&v->job, pass);
    if (status || pass != BENCH_FORWARD)
        return status;
    status = enqueue(v, &v->add);
    return status ? status : enqueue(v, &v->activate);
}

static int finish(void *self)
{
    const variant *v = self;
    return bench_finish(v->scene);
}

static int check(void *self)
{
    variant *v = self;
    return bench_job_check(v->scene, &v->job, v->name);
}

/* Its kernels round as they like. */
static int check_separate(void *self)
{
    variant *v = self;
    int status = bench_overwrite(v->scene, v->scene->job.tensors);
    status = status ? status : run(v, BENCH_FORWARD);
    status = status ? status : run(v, BENCH_BACKWARD);
    status = status ? status : finish(v);
    return status ? status : bench_judge_results(v->scene, v->name);
}

static void close(void *self)
{
    variant *v = self;
    if (v->borrows)
        v->job.replicas = 0, v->job.tensors = NULL, v->job.shards = NULL, v->job.done = NULL;
    job_close(&v->job);
    outputs_free(&v->out);
    bench_kernel_release(&v->add);
    bench_kernel_release(&v->activate);
    bench_kernel_release(&v->gradient);
    if (v->behind)
        clReleaseMemObject(v->behind);
    free(v);
}

static int open_job(variant *v)
{
    scene *s = v->scene;
    v->job = (job){.p = &v->p, .g = &s->g, .in = &s->in, .out = &v->out, .error = s->error};
    if (!v->borrows)
        return job_open(&v->job, s->group, &s->queue);
    v->job.replicas = s->job.replicas;
    v->job.tensors = s->job.tensors;
    v->job.shards = s->job.shards;
    v->job.done = s->job.done;
    return job_make_layer(&v->job, s->group);
}

/*
 * The scene's numbers in a layer of `p`, in the scene's group, queue and, if tensors are alike,
 * buffers.
 */
static int open_variant(scene *s, const char *name, const problem *p, contender *made)
{
    variant *v = calloc(1, sizeof *v);
    if (!v)
        return job_failed_here(s->error, name, SBN_OUT_OF_MEMORY);
    *v = (variant){.scene = s,
                   .name = name,
                   .p = *p,
                   .borrows = p->type == s->p.type && p->gap == s->p.gap};
    int status = open_job(v);
    status = status ? status : bench_finish(s);
    if (status) {
        close(v);
        return status;
    }
    *made = (contender){.name = name,
                        .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD | 1u << BENCH_EVALUATE,
                        .self = v,
                        .run = run,
                        .finish = finish,
                        .check = check,
                        .close = close};
    return SBN_SUCCESS;
}

static int make_separate(variant *v, cl_program program)
{
    scene *s = v->scene;
    const cl_mem *mem = s->job.tensors->mem;
    const int gpu = s->form == SBN_FORM_GPU;
    const cl_ulong n = s->g.elements, strip = gpu ? GPU_STRIP : CPU_STRIP;
    const size_t items = (n + strip - 1) / strip, local = gpu ? 256 : 1;
    const cl_float slope = s->p.activation == SBN_RELU ? 0 : (cl_float)s->p.slope;
    cl_int code;
    v->behind = clCreateBuffer(s->context, CL_MEM_READ_WRITE, n * sizeof(float), NULL, &code);
    if (code) {
        v->behind = NULL;
        return job_failed_here(s->error, "clCreateBuffer", code);
    }
    const sbn_argument add[] = {SBN_ARG(mem[TENSOR_RESIDUAL]), SBN_ARG(mem[TENSOR_Y]), SBN_ARG(n),
                                SBN_ARG(strip)};
    const sbn_argument activate[] = {SBN_ARG(mem[TENSOR_Y]), SBN_ARG(slope), SBN_ARG(n),
                                     SBN_ARG(strip)};
    const sbn_argument gradient[] = {SBN_ARG(mem[TENSOR_Y]),
                                     SBN_ARG(mem[TENSOR_DY]),
                                     SBN_ARG(slope),
                                     SBN_ARG(v->behind),
                                     SBN_ARG(n),
                                     SBN_ARG(strip)};
    int status = SBN_SUCCESS;
    if (s->p.residual)
        status = bench_kernel_make(s, program, "separate_add", add, 4, items, local, &v->add);
    if (status || s->p.activation == SBN_IDENTITY)
        return status;
    v->shard = s->job.shards[0];
    v->shard.dy = (sbn_buffer){.mem = v->behind};
    v->job.shards = &v->shard;
    status = bench_kernel_make(s, program, "separate_activation", activate, 4, items, local,
                               &v->activate);
    return status ? status
                  : bench_kernel_make(s, program, "separate_gradient", gradient, 6, items, local,
                                      &v->gradient);
}

static int open_separate(scene *s, cl_program program, contender *made)
{
    problem p = s->p;
    p.activation = SBN_IDENTITY;
    p.residual = 0;
    int status = open_variant(s, "separate", &p, made);
    if (status)
        return status;
    made->passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD;
    made->check = check_separate;
    status = make_separate(made->self, program);
    if (status)
        made->close(made->self);
    return status;
}

int bench_variants_open(scene *s, cl_program program, contender *made, size_t *count)
{
    problem p = s->p;
    int status = SBN_SUCCESS;
    *count = 0;
    if (p.type != SBN_F32) {
        p.type = SBN_F32;
        status = open_variant(s, "f32", &p, &made[*count]);
        *count += !status;
    } else if (problem_is_fused(&p) && !p.gap && !p.from_output &&
               (p.activation != SBN_LEAKY_RELU || p.slope > 0)) {
        status = open_separate(s, program, &made[*count]);
        *count += !status;
    }
    if (!status && s->p.from_output) {
        p = s->p;
        p.from_output = 0;
        status = open_variant(s, "from x", &p, &made[*count]);
        *count += !status;
    }
    if (!status && s->p.gap) {
        p = s->p;
        p.gap = 0;
        status = open_variant(s, "dense", &p, &made[*count]);
        *count += !status;
    }
    if (!status && s->p.activation != SBN_IDENTITY && !s->p.residual && !s->p.from_output) {
        p = s->p;
        p.activation = SBN_IDENTITY;
        status = open_variant(s, "norm alone", &p, &made[*count]);
        *count += !status;
    }
    return status;
}
