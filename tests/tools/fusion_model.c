/* The model of the library, in floats. */
#include "tools/fusion_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/elements.h"

/* The residual's part and the activation, in the library's words. */
static float activated(const problem *p, fusion_fault fault, float y, float residual, float *z)
{
    const float slope = fault == SLOPE_OFF ? nextafterf((float)p->slope, 1) : (float)p->slope;
    const int is_first = fault == ACTIVATION_FIRST;
    *z = fault == STORED_BETWEEN ? element_round(p->type, y) : y;
    *z += is_first || fault == NO_RESIDUAL ? 0 : residual;
    float out = *z;
    if (fault == NO_ACTIVATION || p->activation == SBN_IDENTITY)
        return out;
    if (!(out > 0))
        out = p->activation == SBN_LEAKY_RELU      ? slope * out
              : isnan(out) && fault != NAN_IS_ZERO ? out
                                                   : 0;
    return out + (is_first ? residual : 0.0f);
}

static float gradient(const problem *p, float z, float dy)
{
    const float slope = (float)p->slope;
    return p->activation == SBN_IDENTITY || z > 0 ? dy
           : p->activation == SBN_LEAKY_RELU      ? slope * dy
           : isnan(z)                             ? dy
                                                  : 0;
}

/* Of one channel of x; and around it, of a dy. */
typedef struct moments {
    double n, mean, var, dy, product;
} moments;

static moments moments_of(const placement *g, const float *x, const float *dy, size_t c)
{
    moments m = {.n = (double)g->values};
    for (int round = 0; round < 2; ++round)
        for (size_t s = 0; s < g->samples; ++s) {
            const size_t start = placement_plane_start(g, s, c);
            for (size_t i = start; i < start + g->sample[s].plane; ++i) {
                const double d = x[i] - m.mean;
                m.dy += round ? dy[i] : 0;
                m.product += round ? dy[i] * d : 0;
                m.var += round ? d * d / m.n : 0;
                m.mean += round ? 0 : x[i] / m.n;
            }
        }
    return m;
}

/* dy behind the activation, as the model with its fault has it. */
static void fill_gradient(const problem *p, const placement *g, const inputs *in,
                          const outputs *out, const float *norm, fusion_fault fault, float *behind)
{
    const float *right = out->preactivation;
    size_t nearest = 0;
    for (size_t i = 0; i < g->elements; ++i) {
        const float z = fault == SIGN_OF_NORM     ? norm[i]
                        : fault == SIGN_OF_STORED ? element_round(p->type, right[i])
                        : fault == ZERO_PASSES    ? right[i] + 0x1p-149f
                                                  : right[i];
        behind[i] = fault == DY_WHOLE ? in->dy[i] : gradient(p, z, in->dy[i]);
        nearest = fabsf(right[i]) < fabsf(right[nearest]) ? i : nearest;
    }
    if (fault == SIGN_FLIPPED)
        behind[nearest] = gradient(p, -right[nearest], in->dy[nearest]);
}

static void fill_forward(const problem *p, const placement *g, const inputs *in, size_t c,
                         fusion_fault fault, const moments *m, float *norm, outputs *out)
{
    const float mean = (float)m->mean, low = (float)(m->mean - mean);
    const float invstd = (float)(1 / sqrt(m->var + p->eps));
    const float weight = p->affine ? in->weight[c] : 1, bias = p->affine ? in->bias[c] : 0;
    const float a = weight * invstd, b = fmaf(-a, low, bias);
    float *running_mean = &out->of[OUT_RUNNING_MEAN].data[c];
    float *running_var = &out->of[OUT_RUNNING_VAR].data[c];
    out->of[OUT_MEAN].data[c] = mean;
    out->of[OUT_VAR].data[c] = (float)m->var;
    *running_mean = (float)(0.9 * in->running_mean[c] + 0.1 * m->mean);
    *running_var = (float)(0.9 * in->running_var[c] + 0.1 * m->var * m->n / (m->n - 1));
    const float by = weight * (float)(1 / sqrt(*running_var + p->eps));
    for (size_t s = 0; s < g->samples; ++s) {
        const size_t start = placement_plane_start(g, s, c);
        for (size_t i = start; i < start + g->sample[s].plane; ++i) {
            float z;
            const float residual = in->residual ? in->residual[i] : 0;
            const float evaluated = fmaf(by, in->x[i] - *running_mean, bias);
            const fusion_fault there = fault == EVALUATED_PLAIN   ? NO_ACTIVATION
                                       : fault == EVALUATED_ALONE ? NO_RESIDUAL
                                                                  : NONE;
            norm[i] = fmaf(a, in->x[i] - mean, b);
            activated(p, NONE, norm[i], residual, &out->preactivation[i]);
            out->of[OUT_Y].data[i] = out->of[OUT_AGAIN].data[i] =
                element_round(p->type, activated(p, fault, norm[i], residual, &z));
            out->of[OUT_EVAL].data[i] = element_round(p->type,
                                                      activated(p, there, evaluated, residual, &z));
        }
    }
}

static void fill_backward(const problem *p, const placement *g, const inputs *in, size_t c,
                          fusion_fault fault, const float *behind, outputs *out)
{
    const moments m = moments_of(g, in->x, fault == SUMS_WHOLE ? in->dy : behind, c);
    const float mean = (float)m.mean, low = (float)(m.mean - mean);
    const double invstd = 1 / sqrt(m.var + p->eps);
    const float a = (p->affine ? in->weight[c] : 1) * (float)invstd;
    const float q = -a * (float)(m.product / m.n * invstd * invstd);
    const float mean_dy = (float)(m.dy / m.n);
    const float rest = -a * (float)(m.dy / m.n - mean_dy) - q * low;
    for (size_t s = 0; s < g->samples; ++s) {
        const size_t start = placement_plane_start(g, s, c);
        for (size_t i = start; i < start + g->sample[s].plane; ++i) {
            const float dx = fmaf(a, behind[i] - mean_dy, fmaf(q, in->x[i] - mean, rest));
            out->of[OUT_DX].data[i] = element_round(p->type, dx);
            if (p->residual) {
                out->of[OUT_RESIDUAL_GRAD].data[i] =
                    element_round(p->type, fault == GRADIENT_WHOLE   ? in->dy[i]
                                           : fault == GRADIENT_IS_DX ? dx
                                                                     : behind[i]);
            }
        }
    }
    if (p->affine) {
        out->of[OUT_WEIGHT_GRAD].data[c] = (float)(m.product * invstd);
        out->of[OUT_BIAS_GRAD].data[c] = (float)m.dy;
    }
}

static void make_outputs(const problem *p, const placement *g, outputs *out)
{
    int missing = 0;
    memset(out, 0, sizeof *out);
    for (int id = 0; id < OUTPUTS; ++id) {
        const int is_tensor = id >= OUT_Y && id <= OUT_RESIDUAL_GRAD;
        const int has = id == OUT_RESIDUAL_GRAD                        ? p->residual
                        : id == OUT_WEIGHT_GRAD || id == OUT_BIAS_GRAD ? p->affine
                                                                       : 1;
        if (has)
            missing |= output_make(out, (output_id)id, is_tensor ? g->elements : g->channels);
    }
    out->preactivation = malloc(g->elements * sizeof *out->preactivation);
    if (missing || !out->preactivation)
        abort();
}

void fusion_model_run(const problem *p, const placement *g, const inputs *in, fusion_fault fault,
                      outputs *out)
{
    float *norm = malloc(g->elements * sizeof *norm),
          *behind = malloc(g->elements * sizeof *behind);
    if (!norm || !behind)
        abort();
    make_outputs(p, g, out);
    for (size_t c = 0; c < g->channels; ++c) {
        const moments m = moments_of(g, in->x, in->dy, c);
        fill_forward(p, g, in, c, fault, &m, norm, out);
    }
    fill_gradient(p, g, in, out, norm, fault, behind);
    for (size_t c = 0; c < g->channels; ++c)
        fill_backward(p, g, in, c, fault, behind, out);
    out->count = g->values;
    out->batches = in->batches + 1;
    free(norm);
    free(behind);
}
