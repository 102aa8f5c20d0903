#include "tools/checker_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bounds.h"
#include "check/elements.h"

/* A block in floats: lanes in order, then folded. */
static float lanes(const float *a, const float *b, size_t n)
{
    float lane[BOUND_LANES] = {0};
    for (size_t i = 0; i < n; ++i)
        lane[i % BOUND_LANES] = fmaf(a[i], b ? b[i] : 1.0f, lane[i % BOUND_LANES]);
    for (int half = BOUND_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; ++l)
            lane[l] += lane[l + half];
    return lane[0];
}

/* Whether a pivot was poor: by the squares around it, or where products are summed, the largest. */
static int is_poor(const float *e, const float *d, size_t n)
{
    float sum = lanes(e, NULL, n), largest = 0;
    if (e == d)
        return sum * sum > 0.5f * (float)n * lanes(e, e, n);
    for (size_t i = 0; i < n; ++i)
        largest = fmaxf(largest, fabsf(e[i]));
    return fabsf(sum) > 0.375f * (float)n * largest;
}

/* sum a and sum (a - ma)(b - mb) of one plane, the latter from float blocks around pivots. */
static void sum_plane(const float *a, float ma, const float *b, float mb, size_t n, int moves,
                      double *first, double *second)
{
    float e[BOUND_BLOCK], other[BOUND_BLOCK], *d = b ? other : e;
    for (size_t from = 0; from < n; from += BOUND_BLOCK) {
        size_t count = n - from < BOUND_BLOCK ? n - from : BOUND_BLOCK;
        size_t first_ones = count < BOUND_LANES ? count : BOUND_LANES;
        float pivot = lanes(a + from, NULL, first_ones) * (1.0f / (float)first_ones);
        for (int again = 0; again < 2; ++again) {
            for (size_t i = 0; i < count; ++i) {
                e[i] = a[from + i] - pivot;
                other[i] = b ? b[from + i] - mb : 0;
            }
            if (!again && moves && is_poor(e, d, count))
                pivot = fmaf(lanes(e, NULL, count), 1.0f / (float)count, pivot);
        }
        double e_sum = lanes(e, NULL, count), d_sum = lanes(d, NULL, count), p = pivot;
        double shift = b ? p : p - ma;
        *first += (double)count * p + e_sum;
        *second += lanes(e, d, count) + shift * d_sum;
        *second += b ? 0 : shift * e_sum + (double)count * shift * shift;
    }
}

typedef struct sums {
    double n, first, second;
} sums;

/* Over the samples of one replica, or all (replica -1). */
static sums sum_over(const placement *g, const float *a, float ma, const float *b, float mb,
                     size_t c, int replica, fault_kind fault)
{
    sums s = {0, 0, 0};
    for (size_t i = 0; i < g->samples; ++i) {
        const sample_place *at = &g->sample[i];
        if (replica >= 0 && at->replica != (size_t)replica)
            continue;
        size_t start = placement_plane_start(g, i, c);
        size_t n = at->plane - (fault == ONE_MISSING && i + 1 == g->samples);
        sum_plane(a + start, ma, b ? b + start : NULL, mb, n, fault != POOR_PIVOT, &s.first,
                  &s.second);
        s.n += (double)at->plane;
    }
    return s;
}

static float ulps(float value, int count)
{
    for (int i = 0; i < count; ++i)
        value = nextafterf(value, INFINITY);
    return value;
}

/* Mean and variance that replica `r` normalises with. */
static void moments(const placement *g, const inputs *in, size_t c, int r, fault_kind fault,
                    double *mean, double *var)
{
    int of = fault == PER_REPLICA ? r : -1;
    /* Any float near the mean serves as the point that second moments are taken around. */
    float near = in->x[placement_plane_start(g, 0, c)];
    sums s = sum_over(g, in->x, near, NULL, 0, c, of, fault);
    *mean = s.first / s.n;
    *var = (s.second - (s.first - s.n * near) * (s.first - s.n * near) / s.n) /
           (fault == UNBIASED ? s.n - 1 : s.n);
    *var = *var < 0 ? 0 : *var;
    *mean = isfinite(*mean) ? *mean : NAN;
}

/* A result of y or dx as the model stores it, and one with a fault. */
static float store(sbn_type type, fault_kind fault, float value)
{
    int exponent;
    float kept = element_round(type, value);
    uint16_t bits;
    switch (fault) {
    case STORED_DOWN:
        elements_pack(type, &kept, 1, &bits);
        bits = (uint16_t)(bits - (fabsf(kept) > fabsf(value)));
        elements_unpack(type, &bits, 1, &kept);
        return kept;
    case STORED_TWICE: {
        const int digits = type == SBN_F16 ? 13 : 10;
        const float fraction = frexpf(value, &exponent);
        return element_round(type, ldexpf(rintf(ldexpf(fraction, digits)), exponent - digits));
    }
    case STORED_FLUSHED: return fabsf(kept) < 0x1p-14f ? 0 : kept;
    case STORED_SATURATED: return isinf(kept) ? copysignf(65504.0f, value) : kept;
    case STORED_OVERFLOWN: return fabsf(kept) >= 0x1p15f ? copysignf(INFINITY, value) : kept;
    default: return kept;
    }
}

/* The residual's part and the activation, in the library's words; `z` is what the activation is given. */
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

/* dy behind the activation, as the model with its fault has it; norm: the batch norm's y. */
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

/* What a replica normalises a channel with. */
typedef struct coefficients {
    float mean, low, invstd, a;
} coefficients;

static coefficients coefficients_of(const problem *p, const placement *g, const inputs *in,
                                    size_t c, int replica, fault_kind fault)
{
    double mean, var;
    moments(g, in, c, replica, fault, &mean, &var);
    const float m = fault == MEAN_STORED ? element_round(p->type, (float)mean) : (float)mean;
    const float invstd = (float)(1 / sqrt(var + (fault == NO_EPS ? 0 : p->eps)));
    return (coefficients){m, fault == MEAN_STORED ? 0 : (float)(mean - m), invstd,
                          (p->affine ? in->weight[c] : 1) * invstd};
}

/* Evaluation is modelled where something follows the batch norm. */
static void forward(const problem *p, const placement *g, const inputs *in, size_t c,
                    fault_kind fault, float *norm, outputs *out)
{
    const float running_mean = out->of[OUT_RUNNING_MEAN].data[c];
    const float running_invstd = (float)(1 / sqrt(out->of[OUT_RUNNING_VAR].data[c] + p->eps));
    const float bias = p->affine ? in->bias[c] : 0;
    const float by = (p->affine ? in->weight[c] : 1) * running_invstd;
    const fault_kind evaluation = fault == EVALUATED_PLAIN   ? NO_ACTIVATION
                                  : fault == EVALUATED_ALONE ? NO_RESIDUAL
                                                             : NONE;
    for (size_t i = 0; i < g->samples; ++i) {
        const coefficients k = coefficients_of(p, g, in, c, (int)g->sample[i].replica, fault);
        const float b = fmaf(-k.a, k.low, bias) - (fault == NAIVE_Y ? k.a * k.mean : 0);
        const float m = fault == NAIVE_Y ? 0 : k.mean;
        const size_t start = placement_plane_start(g, i, c), end = start + g->sample[i].plane;
        for (size_t e = start; e < end; ++e) {
            const float residual = in->residual ? in->residual[e] : 0;
            float z;
            norm[e] = fmaf(k.a, in->x[e] - m, b);
            activated(p, NONE, norm[e], residual, &out->preactivation[e]);
            out->of[OUT_Y].data[e] = out->of[OUT_AGAIN].data[e] =
                store(p->type, fault, activated(p, fault, norm[e], residual, &z));
            if (out->of[OUT_EVAL].data)
                out->of[OUT_EVAL].data[e] = store(p->type, fault,
                                                  activated(p, evaluation,
                                                            fmaf(by, in->x[e] - running_mean, bias),
                                                            residual, &z));
        }
    }
}

static void backward(const problem *p, const placement *g, const inputs *in, size_t c,
                     fault_kind fault, const float *behind, outputs *out)
{
    const float *summed = fault == SUMS_WHOLE ? in->dy : behind;
    for (size_t r = 0; r < g->replicas; ++r) {
        const coefficients k = coefficients_of(p, g, in, c, (int)r, fault);
        const int of = fault == PER_REPLICA ? (int)r : -1;
        const sums all = sum_over(g, summed, 0, in->x, k.mean, c, of, fault);
        const sums own = sum_over(g, summed, 0, in->x, k.mean, c, (int)r, fault);
        const double s = all.second - k.low * all.first;
        float mean_dy = (float)(all.first / all.n);
        float rest = -k.a * (float)(all.first / all.n - mean_dy);
        const float q = fault == NO_VAR_GRADIENT ? 0
                                                 : -k.a * (float)(s / all.n * k.invstd * k.invstd);
        mean_dy = fault == NO_MEAN_GRADIENT ? 0 : mean_dy;
        rest -= q * k.low + (fault == NAIVE_DX ? k.a * mean_dy : 0);
        mean_dy = fault == NAIVE_DX ? 0 : mean_dy;
        for (size_t i = 0; i < g->samples; ++i) {
            const size_t start = placement_plane_start(g, i, c), end = start + g->sample[i].plane;
            for (size_t e = start; g->sample[i].replica == r && e < end; ++e) {
                const float dx = fmaf(k.a, behind[e] - mean_dy, fmaf(q, in->x[e] - k.mean, rest));
                out->of[OUT_DX].data[e] = store(p->type, fault, dx);
                if (p->residual)
                    out->of[OUT_RESIDUAL_GRAD].data[e] =
                        element_round(p->type, fault == GRADIENT_WHOLE   ? in->dy[e]
                                               : fault == GRADIENT_IS_DX ? dx
                                                                         : behind[e]);
            }
        }
        if (p->affine) {
            out->of[OUT_WEIGHT_GRAD].data[r * g->channels + c] =
                (float)((own.second - k.low * own.first) * k.invstd);
            out->of[OUT_BIAS_GRAD].data[r * g->channels + c] = (float)own.first;
        }
    }
}

static void statistics(const problem *p, const placement *g, const inputs *in, size_t c,
                       fault_kind fault, outputs *out)
{
    double mean, var, n = (double)g->values;
    moments(g, in, c, 0, fault, &mean, &var);
    out->of[OUT_MEAN].data[c] = (float)mean;
    out->of[OUT_VAR].data[c] = (float)var;
    double factor = fault == STALE_RUNNING ? 0 : p->momentum;
    double unbiased = fault == RUNNING_BIASED ? var : var * n / (n - 1);
    float old_mean = in->running_mean[c], old_var = in->running_var[c];
    out->of[OUT_RUNNING_MEAN].data[c] = (float)(old_mean + factor * (mean - old_mean));
    out->of[OUT_RUNNING_VAR].data[c] = (float)(old_var + factor * (unbiased - old_var));
}

/* The largest value of an output: there 64 units are 64 roundings of what was computed. */
static float *largest(outputs *out, output_id id)
{
    float *at = out->of[id].data;
    for (size_t i = 0; i < out->of[id].count; ++i)
        at = out->of[id].data[i] > *at ? &out->of[id].data[i] : at;
    return at;
}

static void spoil(outputs *out, sbn_type type, fault_kind fault)
{
    float *y = largest(out, OUT_Y), *again = out->of[OUT_AGAIN].data + (y - out->of[OUT_Y].data);
    float *dx = largest(out, OUT_DX), *mean = largest(out, OUT_MEAN);
    *y = fault == STEP_Y ? *y + element_step(type, *y) : ulps(*y, fault == ULPS_Y ? 64 : 0);
    *again = ulps(*y, fault == FLIPPED_BIT);
    *dx = ulps(*dx, fault == ULPS_DX ? 64 : 0);
    *mean = ulps(*mean, fault == ULPS_MEAN ? 64 : 0);
}

static size_t size_of(const problem *p, const placement *g, output_id id)
{
    switch (id) {
    case OUT_EVAL: return problem_is_fused(p) ? g->elements : 0;
    case OUT_RESIDUAL_GRAD: return p->residual ? g->elements : 0;
    case OUT_Y:
    case OUT_AGAIN:
    case OUT_DX: return g->elements;
    case OUT_WEIGHT_GRAD:
    case OUT_BIAS_GRAD: return p->affine ? g->channels * g->replicas : 0;
    default: return g->channels;
    }
}

void checker_model_run(const problem *p, const placement *g, const inputs *in, fault_kind fault,
                       outputs *out)
{
    float *norm = malloc(g->elements * sizeof *norm),
          *behind = malloc(g->elements * sizeof *behind);
    memset(out, 0, sizeof *out);
    out->preactivation = malloc(g->elements * sizeof *out->preactivation);
    if (!norm || !behind || !out->preactivation)
        abort();
    for (int id = 0; id < OUTPUTS; ++id) {
        const size_t count = size_of(p, g, (output_id)id);
        if (count > 0 && output_make(out, (output_id)id, count))
            abort();
    }
    for (size_t c = 0; c < g->channels; ++c) {
        statistics(p, g, in, c, fault, out);
        forward(p, g, in, c, fault, norm, out);
    }
    fill_gradient(p, g, in, out, norm, fault, behind);
    for (size_t c = 0; c < g->channels; ++c)
        backward(p, g, in, c, fault, behind, out);
    spoil(out, p->type, fault);
    out->count = g->values;
    out->batches = in->batches + 1;
    free(norm);
    free(behind);
}
