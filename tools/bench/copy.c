/* Copies of as many bytes as the tensor has; of a view, what lies between rows is among them. */
#include "bench/contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels.h"
#include "check/elements.h"

/* Elements that an item copies in vectors. */
enum { CPU_STRIP = 4096, GPU_STRIP = 4 };

typedef struct copy {
    scene *scene;
    size_t bytes;
    bench_kernel kernel; /* none: clEnqueueCopyBuffer */
} copy;

static int run(void *self, bench_pass pass)
{
    (void)pass;
    copy *c = self;
    scene *s = c->scene;
    const tensors *t = s->job.tensors;
    int status;
    if (c->kernel.kernel) {
        status = bench_enqueue(s, &c->kernel);
    } else {
        status = clEnqueueCopyBuffer(s->replica->queue, t->mem[TENSOR_X], t->mem[TENSOR_Y], 0, 0,
                                     c->bytes, 0, NULL, NULL);
        if (status)
            return job_failed_here(s->error, "clEnqueueCopyBuffer", status);
    }
    return status ? status : job_finish(&s->job);
}

/* What a copy must leave in y's memory: x's bits, and behind them what was there before. */
static int check(void *self)
{
    copy *c = self;
    scene *s = c->scene;
    const tensors *t = s->job.tensors;
    const size_t size = tensors_size(t, TENSOR_Y), bytes = size * sbn__type_size(s->p.type);
    int status = tensors_overwrite(t, TENSOR_Y);
    status = status ? status : run(c, BENCH_COPY);
    char *y = status ? NULL : malloc(2 * bytes);
    if (!y)
        return status ? status : job_failed_here(s->error, "comparing y", SBN_OUT_OF_MEMORY);
    char *right = y + bytes;
    elements_spoil(s->p.type, size, right);
    memcpy(right, t->staging[TENSOR_X], c->bytes);
    status = tensors_read_memory(t, TENSOR_Y, y);
    if (status) {
        job_failed_here(s->error, "reading y", status);
    } else if (memcmp(y, right, bytes) != 0) {
        const int spoilt = memcmp(y, right, c->bytes) == 0;
        snprintf(s->error, sizeof s->error, "%s",
                 spoilt ? "y was written outside its contents" : "y is not x");
        status = RUNNER_SPOILT;
    }
    free(y);
    return status;
}

static void close(void *self)
{
    copy *c = self;
    bench_kernel_release(&c->kernel);
    free(c);
}

static int make(scene *s, contender_list *all, const char *name, const char *kernel, size_t strip)
{
    const tensors *t = s->job.tensors;
    /* In floats; of an odd number of elements the last takes a guard along, which y has too. */
    const size_t elements = sizeof(float) / sbn__type_size(s->p.type);
    const cl_ulong n = (t->count[TENSOR_X] + elements - 1) / elements, step = strip;
    const int gpu = s->replica->form == SBN_FORM_GPU;
    copy *c = calloc(1, sizeof *c);
    if (!c)
        return job_failed_here(s->error, name, SBN_OUT_OF_MEMORY);
    c->scene = s;
    c->bytes = n * sizeof(float);
    int status = SBN_SUCCESS;
    if (kernel) {
        status =
            bench_kernel_make(s, kernel,
                              BENCH_ARGUMENTS(SBN_ARG(t->mem[TENSOR_X]), SBN_ARG(t->mem[TENSOR_Y]),
                                              SBN_ARG(n), SBN_ARG(step)),
                              (n + strip - 1) / strip, strip == 1 || gpu ? 256 : 1, &c->kernel);
        if (status || !c->kernel.kernel) {
            close(c);
            return status; /* or the compiler lacks the kernel */
        }
    }
    all->of[all->count++] = (contender){.name = name,
                                        .passes = 1u << BENCH_COPY,
                                        .self = c,
                                        .run = run,
                                        .check = check,
                                        .close = close};
    return SBN_SUCCESS;
}

int bench_copy_open(scene *s, contender_list *all)
{
    const size_t strip = s->replica->form == SBN_FORM_GPU ? GPU_STRIP : CPU_STRIP;
    int status = make(s, all, "plain", "copy_plain", 1);
    status = status ? status : make(s, all, "vector", "copy_vector", strip);
    status = status ? status : make(s, all, "nontemporal", "copy_stream", strip);
    return status ? status : make(s, all, "clEnqueueCopyBuffer", NULL, 0);
}
