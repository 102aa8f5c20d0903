/* The library on one replica. */
#include "bench/library.h"

#include "bench/kernels.h"
#include "bench/judge.h"

static int run(void *self, bench_pass pass)
{
    scene *s = self;
    return pass == BENCH_FORWARD    ? job_forward(&s->job, NULL)
           : pass == BENCH_BACKWARD ? job_backward(&s->job, NULL)
                                    : job_evaluate(&s->job);
}

static int finish(void *self)
{
    return bench_finish(self);
}

static int check(void *self)
{
    scene *s = self;
    int status = bench_overwrite(s, s->job.tensors);
    status = status ? status : job_reset(&s->job);
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_EVALUATE && !status; ++pass)
        status = run(s, pass);
    status = status ? status : finish(s);
    status = status ? status : job_collect(&s->job);
    return status ? status : bench_judge_library(s, "syncbn", &s->p, &s->g, &s->in, &s->right);
}

static void close(void *self)
{
    (void)self;
}

int bench_library_open(scene *s, contender *made)
{
    *made = (contender){.name = "syncbn",
                        .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD | 1u << BENCH_EVALUATE,
                        .self = s,
                        .run = run,
                        .finish = finish,
                        .check = check,
                        .close = close};
    return SBN_SUCCESS;
}
