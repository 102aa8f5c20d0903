/* A rough judgement. */
#include "bench_rough.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double bench_distance(const float *got, const float *right, size_t count)
{
    double squares = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)got[i] - right[i]);
        squares += (double)right[i] * right[i];
        most = off <= most ? most : isnan(off) ? INFINITY : off;
    }
    return most > 0 ? most / sqrt(squares / (double)count) : 0;
}

int bench_judge_numbers(scene *s, const char *name, const float *got, output_id right)
{
    double off = bench_distance(got, s->right.of[right].data, s->right.of[right].count);
    if (off <= BENCH_ROUGH) {
        return SBN_SUCCESS;
    }
    snprintf(s->error, sizeof s->error, "%s: %s is off by %.2g of its root mean square, %g allowed",
             name, output_names[right], off, BENCH_ROUGH);
    return RUNNER_SPOILT;
}

int bench_judge(scene *s, const char *name, tensor_id id, output_id right)
{
    const tensors *t = s->job.tensors;
    int vector = id == TENSOR_WEIGHT_GRAD || id == TENSOR_BIAS_GRAD, spoilt = 0;
    float *share = malloc(t->count[id] * sizeof *share), *global = share;
    int status = share ? tensors_read(t, id, share, &spoilt) : SBN_OUT_OF_MEMORY;
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
        if (!vector) {
            geometry_gather(&s->g, s->p.layout, 0, share, global);
        }
        status = bench_judge_numbers(s, name, global, right);
    }
    if (global != share) {
        free(global);
    }
    free(share);
    return status;
}

int bench_overwrite(scene *s)
{
    static const tensor_id written[] = {TENSOR_WEIGHT_GRAD, TENSOR_BIAS_GRAD, TENSOR_Y, TENSOR_EVAL,
                                        TENSOR_DX};
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < sizeof written / sizeof *written && !status; i++) {
        status = tensors_overwrite(s->job.tensors, written[i]);
    }
    return status ? job_failed_here(s->error, "overwriting the outputs", status) : SBN_SUCCESS;
}
