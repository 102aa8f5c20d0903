/*
 * The checker's own test: a small model of the library, in floats and blocks
 * as the design says, is accepted on every kind of data; the same model with
 * one deliberate fault is not. A tolerance that lets a fault through is vacuous.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bounds.h"
#include "check/compare.h"
#include "check/elements.h"
#include "support/tap.h"

typedef enum fault_kind {
    NONE,
    UNBIASED,    /* normalises by n - 1 */
    PER_REPLICA, /* each replica's own statistics */
    ULPS_Y,      /* one y, dx or mean is 64 units in the last place off */
    ULPS_DX,
    ULPS_MEAN,
    NO_EPS,
    NO_MEAN_GRADIENT, /* dx without the mean of dy */
    NO_VAR_GRADIENT,  /* dx without the term through the variance */
    ONE_MISSING,      /* the last value is left out of the sums */
    RUNNING_BIASED,   /* running_var from the biased variance */
    STALE_RUNNING,    /* running statistics not updated */
    FLIPPED_BIT,      /* recomputation one unit off */
    NAIVE_Y,          /* y = a x + b: the mean cancels late */
    NAIVE_DX,         /* dx without taking the mean from dy first */
    STORED_DOWN,      /* y and dx rounded towards zero when they are stored */
    STORED_TWICE,     /* y and dx rounded to two bits more first */
    STORED_FLUSHED,   /* subnormal results become 0 */
    STORED_SATURATED, /* overflow becomes the largest finite number */
    STORED_OVERFLOWN, /* numbers from 2^15 on become infinite */
    STEP_Y,           /* one y is the next number of the type */
    MEAN_STORED       /* the mean that y is made of is rounded to the type */
} fault_kind;

/* On exact data nothing but the apply's own roundings is tolerated. */
static const char plain_data[] = "mb8ic4ih14iw14,r2";
static const char exact_data[] = "mb8ic4ih16iw16,r2,data=exact,grad=exact";

static const char half_data[] = "mb8ic4ih14iw14,f16,r2,grad=denormal";
static const char bfloat_data[] = "mb8ic4ih14iw14,bf16,r2";
static const char overflowing_data[] = "mb8ic4ih14iw14,f16,r2,data=tiny_var,grad=huge";

static const struct {
    fault_kind fault;
    const char *name, *problem;
} faults[] = {
    {UNBIASED, "unbiased variance", plain_data},
    {PER_REPLICA, "per-replica statistics", plain_data},
    {ULPS_Y, "one y 64 ulp off", plain_data},
    {ULPS_DX, "one dx 64 ulp off", plain_data},
    {ULPS_MEAN, "one mean 64 ulp off", plain_data},
    {NO_EPS, "eps left out", plain_data},
    {NO_MEAN_GRADIENT, "dx without the mean of dy", plain_data},
    {NO_VAR_GRADIENT, "dx without the variance's term", plain_data},
    {ONE_MISSING, "one value left out", plain_data},
    {RUNNING_BIASED, "running_var biased", plain_data},
    {STALE_RUNNING, "running statistics not updated", plain_data},
    {FLIPPED_BIT, "recomputed y one ulp off", plain_data},
    {NAIVE_Y, "y = a x + b", exact_data},
    {NAIVE_DX, "dx = p dy + ...", exact_data},
    {UNBIASED, "unbiased variance", exact_data},
    {STORED_DOWN, "half rounded towards zero", half_data},
    {STORED_DOWN, "bfloat rounded towards zero", bfloat_data},
    {STORED_TWICE, "half rounded twice", "mb8ic16ih28iw28,f16,r2"},
    {STORED_TWICE, "bfloat rounded twice", "mb8ic16ih28iw28,bf16,r2"},
    {STORED_FLUSHED, "subnormal halves flushed", half_data},
    {STORED_SATURATED, "overflow of halves saturated", overflowing_data},
    {STORED_OVERFLOWN, "large halves made infinite", overflowing_data},
    {STEP_Y, "one half the next one", half_data},
    {STEP_Y, "one bfloat the next one", bfloat_data},
    {MEAN_STORED, "the mean as a half", half_data},
    {MEAN_STORED, "the mean as a bfloat", bfloat_data},
    {UNBIASED, "unbiased variance, bfloat", bfloat_data},
    {NO_MEAN_GRADIENT, "dx without the mean of dy, bfloat", bfloat_data},
    {NO_VAR_GRADIENT, "dx without the variance's term, bfloat", bfloat_data},
    {ONE_MISSING, "one value left out, half", "mb8ic4ih14iw14,f16,r2"},
};

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

/* sum a and sum (a - ma)(b - mb) of one plane, the latter from float blocks around pivots. */
static void sum_plane(const float *a, float ma, const float *b, float mb, size_t n, double *first,
                      double *second)
{
    float e[BOUND_BLOCK], d[BOUND_BLOCK];
    for (size_t from = 0; from < n; from += BOUND_BLOCK) {
        size_t count = n - from < BOUND_BLOCK ? n - from : BOUND_BLOCK;
        size_t first_ones = count < BOUND_LANES ? count : BOUND_LANES;
        float pivot = lanes(a + from, NULL, first_ones) * (1.0f / (float)first_ones);
        for (size_t i = 0; i < count; ++i) {
            e[i] = a[from + i] - pivot;
            d[i] = b ? b[from + i] - mb : e[i];
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
        sum_plane(a + start, ma, b ? b + start : NULL, mb, n, &s.first, &s.second);
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

static void apply(const problem *p, const placement *g, const inputs *in, size_t c,
                  fault_kind fault, outputs *out)
{
    for (size_t r = 0; r < g->replicas; ++r) {
        double mean, var;
        moments(g, in, c, (int)r, fault, &mean, &var);
        float m = fault == MEAN_STORED ? element_round(p->type, (float)mean) : (float)mean;
        float low = fault == MEAN_STORED ? 0 : (float)(mean - m);
        float invstd = (float)(1 / sqrt(var + (fault == NO_EPS ? 0 : p->eps)));
        int of = fault == PER_REPLICA ? (int)r : -1;
        sums all = sum_over(g, in->dy, 0, in->x, m, c, of, fault);
        sums own = sum_over(g, in->dy, 0, in->x, m, c, (int)r, fault);
        double s = all.second - low * all.first;
        float weight = in->weight[c], a = weight * invstd, b = in->bias[c] - a * low;
        float mean_dy = (float)(all.first / all.n);
        float rest = -a * (float)(all.first / all.n - mean_dy);
        float q = fault == NO_VAR_GRADIENT ? 0 : -a * (float)(s / all.n * invstd * invstd);
        mean_dy = fault == NO_MEAN_GRADIENT ? 0 : mean_dy;
        rest -= q * low;
        float m_y = fault == NAIVE_Y ? 0 : m;
        b -= fault == NAIVE_Y ? a * m : 0;
        rest -= fault == NAIVE_DX ? a * mean_dy : 0;
        mean_dy = fault == NAIVE_DX ? 0 : mean_dy;
        for (size_t i = 0; i < g->samples; ++i) {
            size_t start = placement_plane_start(g, i, c), end = start + g->sample[i].plane;
            for (size_t k = start; g->sample[i].replica == r && k < end; ++k) {
                out->of[OUT_Y].data[k] = store(p->type, fault, fmaf(a, in->x[k] - m_y, b));
                out->of[OUT_AGAIN].data[k] = out->of[OUT_Y].data[k];
                const float dx = fmaf(a, in->dy[k] - mean_dy, fmaf(q, in->x[k] - m, rest));
                out->of[OUT_DX].data[k] = store(p->type, fault, dx);
            }
        }
        out->of[OUT_WEIGHT_GRAD].data[r * g->channels + c] =
            (float)((own.second - low * own.first) * invstd);
        out->of[OUT_BIAS_GRAD].data[r * g->channels + c] = (float)own.first;
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

/* Runs the model on a problem and judges it. */
static int accepted(const char *line, fault_kind fault, char *why, size_t size)
{
    problem p;
    placement g;
    inputs in;
    outputs out;
    comparison result;
    if (problem_parse(line, &p, why, size) || placement_make(&p, 2, &g) || inputs_make(&p, &g, &in))
        abort();
    memset(&out, 0, sizeof out);
    for (int id = 0; id < OUTPUTS; ++id) {
        int elements = id == OUT_Y || id == OUT_AGAIN || id == OUT_DX;
        int gradient = id == OUT_WEIGHT_GRAD || id == OUT_BIAS_GRAD;
        size_t count = elements ? g.elements : gradient ? g.channels * g.replicas : g.channels;
        if (id != OUT_EVAL && output_make(&out, (output_id)id, count))
            abort();
    }
    for (size_t c = 0; c < g.channels; ++c) {
        apply(&p, &g, &in, c, fault, &out);
        statistics(&p, &g, &in, c, fault, &out);
    }
    spoil(&out, p.type, fault);
    out.count = g.values;
    out.batches = in.batches + 1;
    if (compare(&p, &g, &in, &out, &result))
        abort();
    for (int id = 0; id < OUTPUTS; ++id) {
        int length = snprintf(why, size, " %s %.2g", output_names[id], result.of[id].ratio);
        why += length;
        size -= (size_t)length;
    }
    outputs_free(&out);
    inputs_free(&in);
    placement_free(&g);
    return result.ok;
}

int main(void)
{
    static const char *const right[] = {
        "mb8ic4ih14iw14",
        "mb2ic2ih61iw67",
        "mb9ic5",
        "mb8ic4ih14iw14,data=large_mean,grad=one",
        "mb8ic4ih14iw14,data=tiny_var",
        "mb8ic4ih14iw14,data=outlier,grad=outlier",
        "mb8ic4ih14iw14,data=constant,grad=constant",
        "mb8ic4ih14iw14,data=denormal,grad=denormal",
        "mb8ic4ih14iw14,data=wide,grad=wide",
        "mb8ic4ih14iw14,data=exact,grad=exact",
        "mb9ic4ih16iw16,data=exact,grad=exact",
        "mb8ic4ih14iw14,data=inf",
        "mb8ic4ih14iw14,grad=nan",
        "mb8ic4ih14iw14,split1-0-7",
        "mb8ic4ih14iw14,f16",
        "mb8ic4ih14iw14,f16,data=large_mean,grad=one",
        "mb8ic4ih14iw14,f16,data=tiny_var,grad=denormal",
        "mb8ic4ih14iw14,f16,data=tiny_var,grad=huge",
        "mb8ic4ih14iw14,f16,data=outlier,grad=outlier",
        "mb8ic4ih14iw14,f16,data=constant,grad=constant",
        "mb8ic4ih14iw14,f16,data=denormal,grad=denormal",
        "mb8ic4ih14iw14,f16,data=wide,grad=wide",
        "mb8ic4ih14iw14,f16,data=huge",
        "mb9ic4ih16iw16,f16,data=exact,grad=exact",
        "mb8ic4ih14iw14,f16,data=inf,grad=nan",
        "mb8ic4ih14iw14,bf16",
        "mb8ic4ih14iw14,bf16,data=large_mean,grad=one",
        "mb8ic4ih14iw14,bf16,data=tiny_var,grad=denormal",
        "mb8ic4ih14iw14,bf16,data=outlier,grad=outlier",
        "mb8ic4ih14iw14,bf16,data=wide,grad=wide",
        "mb9ic4ih16iw16,bf16,data=exact,grad=exact",
        "mb8ic4ih14iw14,bf16,data=ninf,grad=inf",
    };
    char why[1024];
    for (size_t i = 0; i < sizeof right / sizeof *right; ++i) {
        int good = accepted(right[i], NONE, why, sizeof why);
        tap_ok(good, "the model is accepted: %s:%s", right[i], why);
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        int good = !accepted(faults[i].problem, faults[i].fault, why, sizeof why);
        tap_ok(good, "refused: %s:%s", faults[i].name, why);
    }
    return tap_done();
}
