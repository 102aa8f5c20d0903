/* Contenders made of a sequence of kernels. */
#include "bench/stages.h"

#include <stdlib.h>

#include "bench/judge.h"

int stages_buffer(stages *s, size_t which, size_t floats)
{
    cl_int status;
    s->buffer[which] = clCreateBuffer(s->scene->context, CL_MEM_READ_WRITE, floats * sizeof(float),
                                      NULL, &status);
    if (status) {
        s->buffer[which] = NULL;
        return job_failed_here(s->scene->error, "clCreateBuffer", status);
    }
    return SBN_SUCCESS;
}

int stages_add(stages *s, bench_pass pass, cl_program program, const char *name,
               const sbn_argument *arguments, size_t count, size_t items, size_t local)
{
    bench_kernel *k = &s->kernel[pass][s->count[pass]];
    int status = bench_kernel_make(s->scene, program, name, arguments, count, items, local, k);
    if (!status && !k->kernel)
        status = job_failed_here(s->scene->error, name, CL_INVALID_KERNEL_NAME);
    s->count[pass] += !status;
    return status;
}

static int run(void *self, bench_pass pass)
{
    stages *s = self;
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < s->count[pass] && !status; ++i)
        status = bench_enqueue(s->scene, &s->kernel[pass][i]);
    return status ? status : bench_finish(s->scene);
}

static int check(void *self)
{
    stages *s = self;
    int status = bench_overwrite(s->scene, s->scene->job.tensors);
    status = status ? status : run(s, BENCH_FORWARD);
    status = status ? status : run(s, BENCH_BACKWARD);
    return status ? status : bench_judge_results(s->scene, s->name);
}

static void close(void *self)
{
    stages *s = self;
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass)
        for (size_t i = 0; i < STAGES_MAX; ++i)
            bench_kernel_release(&s->kernel[pass][i]);
    for (size_t i = 0; i < STAGES_BUFFERS; ++i)
        if (s->buffer[i])
            clReleaseMemObject(s->buffer[i]);
    free(s);
}

contender stages_contender(stages *s)
{
    return (contender){.name = s->name,
                       .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD,
                       .self = s,
                       .run = run,
                       .check = check,
                       .close = close};
}
