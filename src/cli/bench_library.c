/* The library on one replica. */
#include "bench_library.h"

#include <stdio.h>

#include "bench_kernels.h"
#include "bench_rough.h"
#include "compare.h"

static int run(void *self, bench_pass pass)
{
    scene *s = self;
    int status = pass == BENCH_FORWARD    ? job_forward(&s->job, NULL)
                 : pass == BENCH_BACKWARD ? job_backward(&s->job, NULL)
                                          : job_evaluate(&s->job);
    return status ? status : bench_finish(s);
}

/* The first output that failed, in a sentence. */
static int refuse(scene *s, const comparison *judged)
{
    char where[128];
    snprintf(s->error, sizeof s->error, "syncbn: a wrong count of values or batches");
    for (int id = 0; id < OUTPUTS; id++) {
        const verdict *v = &judged->of[id];
        if (v->failures) {
            compare_where(&s->g, (output_id)id, v->index, where, sizeof where);
            snprintf(s->error, sizeof s->error,
                     "syncbn: %s: %zu values beyond tolerance; worst at %s: got %.9g, expected "
                     "%.9g, error %.3g, tolerance %.3g",
                     output_names[id], v->failures, where, v->got, v->expected, v->error,
                     v->tolerance);
            break;
        }
    }
    return RUNNER_SPOILT;
}

static int check(void *self)
{
    scene *s = self;
    comparison judged;
    int status = bench_overwrite(s);
    status = status ? status : job_reset(&s->job);
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_EVALUATE && !status; pass++) {
        status = run(s, pass);
    }
    status = status ? status : job_collect(&s->job);
    if (status) {
        return status;
    }
    status = compare(&s->p, &s->g, &s->in, &s->right, &judged);
    if (status) {
        return job_failed_here(s->error, "comparing", status);
    }
    return judged.ok ? SBN_SUCCESS : refuse(s, &judged);
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
                        .check = check,
                        .close = close};
    return SBN_SUCCESS;
}
