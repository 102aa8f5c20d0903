/*
 * The checker's judgement of what follows a batch norm: a model of the library with activations and
 * residuals is accepted, the same with one fault is not. Its statistics are float64's, rounded as the
 * library rounds them; tests/tools/tolerance.c is about sums.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/compare.h"
#include "check/elements.h"
#include "support/tap.h"

typedef enum fault_kind {
    NONE,
    NO_ACTIVATION,    /* of y */
    NO_RESIDUAL,      /* y without it */
    ACTIVATION_FIRST, /* the residual is added behind the activation */
    STORED_BETWEEN,   /* rounded to the type before the residual is added */
    SLOPE_OFF,        /* by a unit in the last place */
    NAN_IS_ZERO,      /* as max(z, 0) has it on some devices */
    EVALUATED_PLAIN,  /* evaluation without the activation */
    EVALUATED_ALONE,  /* evaluation without the residual */
    DY_WHOLE,         /* backward without the activation */
    SUMS_WHOLE,       /* the same, of the sums alone */
    ZERO_PASSES,      /* dy passes where z is 0 */
    SIGN_OF_NORM,     /* of the batch norm's y, before the residual */
    SIGN_OF_STORED,   /* of y as it is stored */
    SIGN_FLIPPED,     /* one, of the z nearest to 0 */
    GRADIENT_WHOLE,   /* the residual's gradient is dy */
    GRADIENT_IS_DX,
    FAULTS
} fault_kind;

static const struct {
    fault_kind fault;
    const char *name, *problem;
} faults[] = {
    {NO_ACTIVATION, "y without the ReLU", "mb8ic4ih14iw14,relu"},
    {NO_ACTIVATION, "y without the leaky ReLU", "mb8ic4ih14iw14,leaky"},
    {NO_RESIDUAL, "y without the residual", "mb8ic4ih14iw14,add"},
    {NO_RESIDUAL, "y without the residual, ReLU", "mb8ic4ih14iw14,bf16,relu,add"},
    {ACTIVATION_FIRST, "the residual behind the ReLU", "mb8ic4ih14iw14,relu,add"},
    {STORED_BETWEEN, "a half before the addition", "mb8ic4ih14iw14,f16,add"},
    {STORED_BETWEEN, "a bfloat before the addition", "mb8ic4ih14iw14,bf16,relu,add"},
    {SLOPE_OFF, "the slope a unit off", "mb8ic4ih14iw14,leaky"},
    {NAN_IS_ZERO, "ReLU of NaN is 0", "mb8ic4ih14iw14,relu,data=nan"},
    {EVALUATED_PLAIN, "evaluation without the ReLU", "mb8ic4ih14iw14,relu"},
    {EVALUATED_ALONE, "evaluation without the residual", "mb8ic4ih14iw14,f16,add"},
    {DY_WHOLE, "dx of all of dy, ReLU", "mb8ic4ih14iw14,relu"},
    {DY_WHOLE, "dx of all of dy, leaky ReLU", "mb8ic4ih14iw14,bf16,leaky=0.9"},
    {SUMS_WHOLE, "sums of all of dy", "mb8ic4ih14iw14,f16,relu,add"},
    {ZERO_PASSES, "ReLU passes dy at 0", "mb8ic4ih14iw14,relu,data=constant,plain"},
    {ZERO_PASSES, "leaky ReLU passes dy at 0", "mb8ic4ih14iw14,leaky,data=constant,plain"},
    {SIGN_OF_NORM, "the sign before the residual", "mb8ic4ih14iw14,relu,add"},
    {SIGN_OF_STORED, "the sign of what is stored",
     "mb8ic4ih14iw14,f16,relu,data=denormal,plain,eps=100"},
    {SIGN_FLIPPED, "one sign", "mb8ic4ih14iw14,relu"},
    {SIGN_FLIPPED, "one sign, with a residual", "mb8ic4ih14iw14,relu,add"},
    {SIGN_FLIPPED, "one sign, bfloat", "mb8ic4ih14iw14,bf16,leaky"},
    {GRADIENT_WHOLE, "the residual's gradient is dy", "mb8ic4ih14iw14,f16,relu,add"},
    {GRADIENT_IS_DX, "the residual's gradient is dx", "mb8ic4ih14iw14,add"},
};

/* The residual's part and the activation, in the library's words. */
static float activated(const problem *p, fault_kind fault, float y, float residual, float *z)
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
            if (!round && s + 1 == g->samples && !isfinite(m.mean))
                return (moments){m.n, m.mean, NAN, NAN, NAN};
        }
    return m;
}

/* dy behind the activation, as the model with its fault has it. */
static void fill_gradient(const problem *p, const placement *g, const inputs *in,
                          const outputs *out, const float *norm, fault_kind fault, float *behind)
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
                         fault_kind fault, const moments *m, float *norm, outputs *out)
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
            const fault_kind there = fault == EVALUATED_PLAIN   ? NO_ACTIVATION
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
                          fault_kind fault, const float *behind, outputs *out)
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

/* Runs the model on a problem and judges it. */
static int accepted(const char *line, fault_kind fault)
{
    problem p;
    placement g;
    inputs in;
    outputs out;
    comparison result;
    char why[256];
    if (problem_parse(line, &p, why, sizeof why) || placement_make(&p, 1, &g) ||
        inputs_make(&p, &g, &in))
        abort();
    make_outputs(&p, &g, &out);
    float *norm = malloc(g.elements * sizeof *norm), *behind = malloc(g.elements * sizeof *behind);
    if (!norm || !behind)
        abort();
    for (size_t c = 0; c < g.channels; ++c) {
        const moments m = moments_of(&g, in.x, in.dy, c);
        fill_forward(&p, &g, &in, c, fault, &m, norm, &out);
    }
    fill_gradient(&p, &g, &in, &out, norm, fault, behind);
    for (size_t c = 0; c < g.channels; ++c)
        fill_backward(&p, &g, &in, c, fault, behind, &out);
    out.count = g.values;
    out.batches = in.batches + 1;
    if (compare(&p, &g, &in, &out, &result))
        abort();
    for (int id = 0; id < OUTPUTS; ++id)
        if (result.of[id].failures)
            tap_note("%s: %zu values", output_names[id], result.of[id].failures);
    free(norm);
    free(behind);
    outputs_free(&out);
    inputs_free(&in);
    placement_free(&g);
    return result.ok;
}

int main(void)
{
    static const char *const right[] = {
        "mb8ic4ih14iw14,relu",
        "mb8ic4ih14iw14,leaky",
        "mb8ic4ih14iw14,leaky=-3",
        "mb8ic4ih14iw14,leaky=0",
        "mb8ic4ih14iw14,add",
        "mb8ic4ih14iw14,relu,add",
        "mb8ic4ih14iw14,leaky,add,plain",
        "mb8ic4ih14iw14,relu,data=large_mean,grad=one",
        "mb8ic4ih14iw14,relu,add,data=tiny_var,grad=step",
        "mb8ic4ih14iw14,leaky,data=outlier,grad=outlier",
        "mb8ic4ih14iw14,relu,data=constant,grad=constant,plain",
        "mb8ic4ih14iw14,leaky,add,data=wide,grad=wide",
        "mb8ic4ih16iw16,relu,data=exact,grad=exact",
        "mb8ic4ih14iw14,relu,data=nan",
        "mb8ic4ih14iw14,leaky,add,data=inf,grad=nan",
        "mb8ic4ih14iw14,relu,grad=inf",
        "mb8ic4ih14iw14,f16,relu",
        "mb8ic4ih14iw14,f16,leaky,add",
        "mb8ic4ih14iw14,f16,relu,add,data=denormal,grad=denormal",
        "mb8ic4ih14iw14,f16,relu,data=denormal,plain,eps=100",
        "mb8ic4ih14iw14,f16,leaky,data=tiny_var,grad=huge",
        "mb8ic4ih14iw14,bf16,relu,add",
        "mb8ic4ih14iw14,bf16,leaky=0.2",
        "mb8ic4ih14iw14,bf16,relu,add,data=wide,grad=wide",
    };
    int seen[FAULTS] = {1};
    for (size_t i = 0; i < sizeof right / sizeof *right; ++i)
        tap_ok(accepted(right[i], NONE), "the model is accepted: %s", right[i]);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        seen[faults[i].fault] = 1;
        tap_ok(!accepted(faults[i].problem, faults[i].fault), "refused: %s: %s", faults[i].name,
               faults[i].problem);
    }
    for (int fault = 0; fault < FAULTS; ++fault)
        if (!seen[fault])
            tap_ok(0, "fault %d has a problem", fault);
    return tap_done();
}
