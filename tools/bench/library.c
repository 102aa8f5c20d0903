/* The library on one replica. */
#include "bench/contender.h"

#include "bench/kernels.h"
#include "bench/judge.h"

int bench_job_run(job *j, bench_pass pass)
{
    return pass == BENCH_FORWARD    ? job_forward(j, NULL)
           : pass == BENCH_BACKWARD ? job_backward(j, NULL)
                                    : job_evaluate(j);
}

int bench_job_check(scene *s, job *j, const char *name)
{
    int status = bench_overwrite(s, j->tensors);
    status = status ? status : job_reset(j);
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_EVALUATE && !status; ++pass)
        status = bench_job_run(j, pass);
    status = status ? status : bench_finish(s);
    status = status ? status : job_collect(j);
    status = status ? status : job_preactivation(j, s->group, &s->queue);
    return status ? status : bench_judge_library(s, name, j->p, j->g, j->in, j->out);
}

static int run(void *self, bench_pass pass)
{
    scene *s = self;
    return bench_job_run(&s->job, pass);
}

static int finish(void *self)
{
    return bench_finish(self);
}

static int check(void *self)
{
    scene *s = self;
    return bench_job_check(s, &s->job, "syncbn");
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
