/* Judging outputs. */
#include "bench/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/bounds.h"
#include "check/compare.h"
#include "check/elements.h"

/* The first output that failed, in a sentence. */
static int refuse(scene *s, const char *name, const placement *g, const comparison *judged)
{
    char where[128];
    snprintf(s->error, sizeof s->error, "%s: a wrong count of values or batches", name);
    for (int id = 0; id < OUTPUTS; ++id) {
        const verdict *v = &judged->of[id];
        if (v->failures) {
            compare_where(g, (output_id)id, v->index, where, sizeof where);
            snprintf(s->error, sizeof s->error,
                     "%s: %s: %zu values beyond tolerance; worst at %s: got %.9g, expected "
                     "%.9g, error %.3g, tolerance %.3g",
                     name, output_names[id], v->failures, where, v->got, v->expected, v->error,
                     v->tolerance);
            break;
        }
    }
    return RUNNER_SPOILT;
}

int bench_judge_library(scene *s, const char *name, const problem *p, const placement *g,
                        const inputs *in, const outputs *out)
{
    comparison judged;
    int status = compare(p, g, in, out, &judged);
    if (status)
        return job_failed_here(s->error, "comparing", status);
    return judged.ok ? SBN_SUCCESS : refuse(s, name, g, &judged);
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

int bench_judge_numbers(scene *s, const char *name, const float *got, output_id right)
{
    const int stored = right == OUT_Y || right == OUT_DX;
    const float *z = right == OUT_DX && s->p.activation ? s->right.preactivation : NULL;
    double off = distance(stored ? s->p.type : SBN_F32, got, s->right.of[right].data,
                          s->right.of[right].count, z, z ? allowed_for(s, OUT_Y) : 0);
    double allowed = allowed_for(s, right);
    if (off <= allowed)
        return SBN_SUCCESS;
    snprintf(s->error, sizeof s->error, "%s: %s is off by up to %.2g, %.2g allowed", name,
             output_names[right], off, allowed);
    return RUNNER_SPOILT;
}

/* Reads a tensor of the scene and judges it. */
static int judge(scene *s, const char *name, tensor_id id, output_id right)
{
    const tensors *t = s->job.tensors;
    int vector = id == TENSOR_WEIGHT_GRAD || id == TENSOR_BIAS_GRAD, spoilt = 0;
    float *shard = malloc(t->count[id] * sizeof *shard), *global = shard;
    int status = shard ? tensors_read(t, id, shard, &spoilt) : SBN_OUT_OF_MEMORY;
    if (!status && !vector) {
        global = malloc(t->count[id] * sizeof *global);
        status = global ? SBN_SUCCESS : SBN_OUT_OF_MEMORY;
    }
    if (status) {
        job_failed_here(s->error, name, status);
    } else if (spoilt) {
        snprintf(s->error, sizeof s->error, "%s: %s: written outside its contents", name,
                 output_names[right]);
        status = RUNNER_SPOILT;
    } else {
        if (!vector)
            placement_gather(&s->g, s->p.layout, 0, shard, global);
        status = bench_judge_numbers(s, name, global, right);
    }
    if (global != shard)
        free(global);
    free(shard);
    return status;
}

int bench_judge_results(scene *s, const char *name)
{
    int status = judge(s, name, TENSOR_Y, OUT_Y);
    status = status ? status : judge(s, name, TENSOR_DX, OUT_DX);
    if (status || !s->p.affine)
        return status;
    status = judge(s, name, TENSOR_WEIGHT_GRAD, OUT_WEIGHT_GRAD);
    return status ? status : judge(s, name, TENSOR_BIAS_GRAD, OUT_BIAS_GRAD);
}

int bench_overwrite(scene *s, const tensors *t)
{
    static const tensor_id written[] = {TENSOR_WEIGHT_GRAD, TENSOR_BIAS_GRAD, TENSOR_Y,
                                        TENSOR_EVAL,        TENSOR_DX,        TENSOR_RESIDUAL_GRAD};
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < sizeof written / sizeof *written && !status; ++i)
        status = t->mem[written[i]] ? tensors_overwrite(t, written[i]) : SBN_SUCCESS;
    return status ? job_failed_here(s->error, "overwriting the outputs", status) : SBN_SUCCESS;
}
