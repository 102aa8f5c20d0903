/* Addition and activation apart from the batch norm. */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/judge.h"
#include "bench/kernels.h"

static const char name[] = "separate";

/* Elements of an item. */
enum { CPU_STRIP = 4096, GPU_STRIP = 4 };

typedef struct separate {
    scene *scene;
    problem p; /* the batch norm alone */
    job job;   /* with the scene's tensors */
    sbn_shard shard;
    cl_mem behind; /* dy behind the activation; none without one */
    bench_kernel add, activate, gradient;
} separate;

static int enqueue(const separate *t, const bench_kernel *k)
{
    return k->kernel ? bench_enqueue(t->scene, k) : SBN_SUCCESS;
}

static int forward(separate *t)
{
    int status = job_forward(&t->job, NULL);
    status = status ? status : enqueue(t, &t->add);
    return status ? status : enqueue(t, &t->activate);
}

static int run(void *self, bench_pass pass)
{
    separate *t = self;
    int status = pass == BENCH_FORWARD ? forward(t) : enqueue(t, &t->gradient);
    if (!status && pass == BENCH_BACKWARD)
        status = job_backward(&t->job, NULL);
    return status ? status : bench_finish(t->scene);
}

static int check(void *self)
{
    separate *t = self;
    scene *s = t->scene;
    int status = bench_overwrite(s, s->job.tensors);
    status = status ? status : run(t, BENCH_FORWARD);
    status = status ? status : run(t, BENCH_BACKWARD);
    return status ? status : bench_judge_results(s, name);
}

static void close(void *self)
{
    separate *t = self;
    bench_kernel_release(&t->add);
    bench_kernel_release(&t->activate);
    bench_kernel_release(&t->gradient);
    sbn_saved_destroy(t->job.saved);
    sbn_batchnorm_destroy(t->job.layer);
    if (t->behind)
        clReleaseMemObject(t->behind);
    free(t);
}

static int make(const separate *t, cl_program program, const char *kernel,
                const sbn_argument *arguments, size_t count, bench_kernel *made)
{
    const int gpu = t->scene->form == SBN_FORM_GPU;
    const size_t strip = gpu ? GPU_STRIP : CPU_STRIP;
    return bench_kernel_make(t->scene, program, kernel, arguments, count,
                             (t->scene->g.elements + strip - 1) / strip, gpu ? 256 : 1, made);
}

static int make_activation(separate *t, cl_program program)
{
    scene *s = t->scene;
    const cl_mem *mem = s->job.tensors->mem;
    const cl_ulong n = s->g.elements, strip = s->form == SBN_FORM_GPU ? GPU_STRIP : CPU_STRIP;
    const cl_float slope = s->p.activation == SBN_RELU ? 0 : (cl_float)s->p.slope;
    cl_int status;
    t->behind = clCreateBuffer(s->context, CL_MEM_READ_WRITE, n * sizeof(float), NULL, &status);
    if (status) {
        t->behind = NULL;
        return job_failed_here(s->error, "clCreateBuffer", status);
    }
    t->shard.dy = (sbn_buffer){.mem = t->behind};
    const sbn_argument forward_arguments[] = {SBN_ARG(mem[TENSOR_Y]), SBN_ARG(slope), SBN_ARG(n),
                                              SBN_ARG(strip)};
    const sbn_argument backward_arguments[] = {SBN_ARG(mem[TENSOR_Y]),
                                               SBN_ARG(mem[TENSOR_DY]),
                                               SBN_ARG(slope),
                                               SBN_ARG(t->behind),
                                               SBN_ARG(n),
                                               SBN_ARG(strip)};
    int made = make(t, program, "separate_activation", forward_arguments, 4, &t->activate);
    return made ? made : make(t, program, "separate_gradient", backward_arguments, 6, &t->gradient);
}

static int make_addition(separate *t, cl_program program)
{
    const scene *s = t->scene;
    const cl_mem *mem = s->job.tensors->mem;
    const cl_ulong n = s->g.elements, strip = s->form == SBN_FORM_GPU ? GPU_STRIP : CPU_STRIP;
    const sbn_argument arguments[] = {SBN_ARG(mem[TENSOR_RESIDUAL]), SBN_ARG(mem[TENSOR_Y]),
                                      SBN_ARG(n), SBN_ARG(strip)};
    return make(t, program, "separate_add", arguments, 4, &t->add);
}

int bench_separate_open(scene *s, cl_program program, contender *made)
{
    separate *t = calloc(1, sizeof *t);
    if (!t)
        return job_failed_here(s->error, name, SBN_OUT_OF_MEMORY);
    t->scene = s;
    t->p = s->p;
    t->p.activation = SBN_IDENTITY;
    t->p.residual = 0;
    t->shard = s->job.shards[0];
    t->job = s->job;
    t->job.p = &t->p;
    t->job.shards = &t->shard;
    t->job.layer = NULL;
    t->job.saved = NULL;
    int status = job_make_layer(&t->job, s->group);
    if (!status && s->p.residual)
        status = make_addition(t, program);
    if (!status && s->p.activation != SBN_IDENTITY)
        status = make_activation(t, program);
    if (status) {
        close(t);
        return status;
    }
    *made = (contender){.name = name,
                        .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD,
                        .self = t,
                        .run = run,
                        .check = check,
                        .close = close};
    return SBN_SUCCESS;
}
