/* The library with other settings. */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/kernels.h"

typedef struct variant {
    scene *scene;
    const char *name;
    problem p;
    job job;
    outputs out;
    int borrows; /* the scene's buffers */
} variant;

static int run(void *self, bench_pass pass)
{
    variant *v = self;
    return bench_job_run(&v->job, pass);
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

static void close(void *self)
{
    variant *v = self;
    if (v->borrows)
        v->job.replicas = 0, v->job.tensors = NULL, v->job.shards = NULL, v->job.done = NULL;
    job_close(&v->job);
    outputs_free(&v->out);
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
        status = bench_separate_open(s, program, &made[*count]);
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
