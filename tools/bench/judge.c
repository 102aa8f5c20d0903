#include "bench/judge.h"

#include <math.h>
#include <stdio.h>

#include "check/bounds.h"
#include "check/compare.h"
#include "check/elements.h"

/* The first output that failed, in a sentence. */
static int refuse(const job *j, const comparison *judged)
{
    int id = 0;
    while (id < OUTPUTS && !judged->of[id].failures)
        ++id;
    if (id == OUTPUTS)
        snprintf(j->error, RUNNER_ERROR, "a wrong count of values or batches");
    else
        compare_explain(j->g, j->out, judged, (output_id)id, j->error, RUNNER_ERROR);
    return RUNNER_SPOILT;
}

int bench_judge_library(job *j)
{
    comparison judged;
    int status = job_collect(j);
    status = status ? status : job_apart(j, j->group, &j->tensors->queue);
    if (status)
        return status;
    status = compare(j->p, j->g, j->in, j->out, &judged);
    if (status)
        return job_failed_here(j->error, "comparing", status);
    return judged.ok ? SBN_SUCCESS : refuse(j, &judged);
}

static double root_mean_square(const float *data, size_t count)
{
    double squares = 0;
    for (size_t i = 0; i < count; ++i)
        squares += (double)data[i] * data[i];
    return sqrt(squares / (double)count);
}

/* The largest error of a value: see judge.h. */
static double allowed_for(const scene *s, output_id id)
{
    const output *right = &s->right.of[id];
    double of_size = BENCH_ROUGH * root_mean_square(right->data, right->count);
    double dy = root_mean_square(s->in.dy, s->g.elements), n = (double)s->g.values, most = 0;
    switch (id) {
    case OUT_WEIGHT_GRAD:
    case OUT_BIAS_GRAD: return fmax(of_size, 2 * BOUND_UNIT * sqrt(n) * n * dy);
    case OUT_DX:
        for (size_t c = 0; c < s->g.channels; ++c) {
            double weight = s->p.affine ? fabs(s->in.weight[c]) : 1;
            most = fmax(most, weight * reference_invstd(&s->p, s->right.of[OUT_VAR].data[c]));
        }
        return BENCH_ROUGH * most * dy;
    default: return of_size;
    }
}

/*
 * The largest |got - right|, less a step of the type where it rounds both; infinite for a NaN. Not
 * where |z| is less than `near`; z may be NULL.
 */
static double distance(sbn_type type, const float *got, const float *right, size_t count,
                       const float *z, double near)
{
    double most = 0;
    for (size_t i = 0; i < count; ++i) {
        if (z && fabsf(z[i]) < near)
            continue;
        double step = type == SBN_F32 ? 0 : element_step(type, right[i]);
        double off = fabs((double)got[i] - right[i]) - step;
        most = off <= most ? most : isnan(off) ? INFINITY : off;
    }
    return most;
}

int bench_judge_numbers(scene *s, const float *got, output_id right)
{
    const int stored = right == OUT_Y || right == OUT_DX;
    const float *z = right == OUT_DX && s->p.activation ? s->right.preactivation : NULL;
    double off = distance(stored ? s->p.type : SBN_F32, got, s->right.of[right].data,
                          s->right.of[right].count, z, z ? allowed_for(s, OUT_Y) : 0);
    double allowed = allowed_for(s, right);
    if (off <= allowed)
        return SBN_SUCCESS;
    snprintf(s->error, sizeof s->error, "%s is off by up to %.2g, %.2g allowed",
             output_names[right], off, allowed);
    return RUNNER_SPOILT;
}

int bench_judge_results(scene *s)
{
    static const tensor_id from[] = {TENSOR_Y, TENSOR_DX, TENSOR_WEIGHT_GRAD, TENSOR_BIAS_GRAD};
    static const output_id to[] = {OUT_Y, OUT_DX, OUT_WEIGHT_GRAD, OUT_BIAS_GRAD};
    outputs got = {.wide = 0};
    job j = s->job;
    int status = SBN_SUCCESS;
    j.out = &got;
    for (int i = 0; i < (s->p.affine ? 4 : 2) && !status; ++i) {
        status = job_collect_tensor(&j, from[i], to[i]);
        status = status ? status : bench_judge_numbers(s, got.of[to[i]].data, to[i]);
    }
    outputs_free(&got);
    return status;
}

int bench_overwrite(scene *s, const job *j)
{
    static const tensor_id written[] = {TENSOR_WEIGHT_GRAD, TENSOR_BIAS_GRAD, TENSOR_Y,
                                        TENSOR_EVAL,        TENSOR_DX,        TENSOR_RESIDUAL_GRAD};
    int status = SBN_SUCCESS;
    for (const tensors *t = j->tensors; t < j->tensors + j->replicas; ++t)
        for (size_t i = 0; i < sizeof written / sizeof *written && !status; ++i)
            status = t->mem[written[i]] ? tensors_overwrite(t, written[i]) : SBN_SUCCESS;
    return status ? job_failed_here(s->error, "overwriting the outputs", status) : SBN_SUCCESS;
}
