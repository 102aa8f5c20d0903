/* The library on the same shape in f32. */
#include "bench/float32.h"

#include <stdlib.h>

#include "bench/kernels.h"
#include "bench/library.h"

static const char name[] = "f32";

typedef struct float32 {
    scene *scene;
    problem p;
    job job;
    outputs out;
} float32;

static int run(void *self, bench_pass pass)
{
    float32 *f = self;
    return bench_job_run(&f->job, pass);
}

static int finish(void *self)
{
    const float32 *f = self;
    return bench_finish(f->scene);
}

static int check(void *self)
{
    float32 *f = self;
    return bench_job_check(f->scene, &f->job, name);
}

static void close(void *self)
{
    float32 *f = self;
    job_close(&f->job);
    outputs_free(&f->out);
    free(f);
}

int bench_float32_open(scene *s, contender *made)
{
    float32 *f = calloc(1, sizeof *f);
    if (!f)
        return job_failed_here(s->error, name, SBN_OUT_OF_MEMORY);
    f->scene = s;
    f->p = s->p;
    f->p.type = SBN_F32;
    f->job = (job){.p = &f->p, .g = &s->g, .in = &s->in, .out = &f->out, .error = s->error};
    int status = job_open(&f->job, s->group, &s->queue);
    status = status ? status : bench_finish(s);
    if (status) {
        close(f);
        return status;
    }
    *made = (contender){.name = name,
                        .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD | 1u << BENCH_EVALUATE,
                        .self = f,
                        .run = run,
                        .finish = finish,
                        .check = check,
                        .close = close};
    return SBN_SUCCESS;
}
