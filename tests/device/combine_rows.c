#include <math.h>
#include <string.h>

#include "device/combine.h"
#include "support/tap.h"

void rows_fill(rows *r)
{
    memset(r, 0x3e, sizeof *r);
    for (size_t c = 0; c < CHANNELS; ++c) {
        r->running[c] = (float)c * 0.25f;
        r->running[CHANNELS + c] = 1.0f + (float)c;
        /* What a backward pass reads. */
        r->moments[SBN_MOMENT_MEAN * CHANNELS + c] = c % 7 ? 1.0 / (double)(c + 3) : NAN;
        r->moments[SBN_MOMENT_VAR * CHANNELS + c] = c % 5 ? 1e-6 : 0.5;
        r->moments[SBN_MOMENT_INVSTD * CHANNELS + c] = c % 5 ? 0x1p14 : 1.5;
    }
}

/* Of narrow accumulators whose flags say so, both: the channels are in `only`. */
static sbn_accumulators join(const sbn_accumulators *narrow, const int64_t *wide,
                             unsigned char only[CHANNELS])
{
    static int64_t joined[CHANNELS * MOST_LIMBS];
    sbn__needs_wide(narrow, CHANNELS, only);
    sbn__accumulators_widen(narrow, CHANNELS, only, wide, joined);
    return (sbn_accumulators){joined, &sbn_wide};
}

static void host_gradient_sums(const int64_t *narrow, const sbn_format *format, const int64_t *wide,
                               const double *mean, double *dy, double *dy_xmu)
{
    unsigned char only[CHANNELS];
    const sbn_accumulators all = {narrow, format};
    const sbn_accumulators both = join(&all, wide, only);
    sbn__gradient_sums_of(&all, CHANNELS, NULL, mean, dy, dy_xmu);
    sbn__gradient_sums_of(&both, CHANNELS, only, mean, dy, dy_xmu);
}

void expect_forward(rows *r, const sums *s, uint64_t count, sbn_eps eps, double weight, int tracks)
{
    static double mean[CHANNELS], var[CHANNELS];
    unsigned char only[CHANNELS];
    const sbn_accumulators all = {s->all, s->format};
    const sbn_accumulators both = join(&all, s->all_wide, only);
    sbn__moments_of(&all, CHANNELS, NULL, count, mean, var);
    sbn__moments_of(&both, CHANNELS, only, count, mean, var);
    const double unbiased = (double)count / (double)(count - 1);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const sbn_double_float m = sbn__split_double(mean[c]);
        const double invstd = sbn__invstd(var[c], eps);
        r->coefficients[SBN_ROW_MEAN_HIGH * CHANNELS + c] = m.high;
        r->coefficients[SBN_ROW_MEAN_LOW * CHANNELS + c] = m.low;
        r->coefficients[SBN_ROW_INVSTD * CHANNELS + c] = isinf(invstd) ? NAN : (float)invstd;
        r->moments[SBN_MOMENT_MEAN * CHANNELS + c] = mean[c];
        r->moments[SBN_MOMENT_VAR * CHANNELS + c] = var[c];
        r->moments[SBN_MOMENT_INVSTD * CHANNELS + c] = invstd;
        if (!tracks)
            continue;
        float *of_mean = &r->running[c], *of_var = &r->running[CHANNELS + c];
        *of_mean = (float)((1.0 - weight) * *of_mean + weight * mean[c]);
        *of_var = (float)((1.0 - weight) * *of_var + weight * (var[c] * unbiased));
    }
    r->batches = tracks ? 17 : r->batches;
}

void expect_backward(rows *r, const sums *s, uint64_t count, sbn_eps eps, int is_own)
{
    static double dy[CHANNELS], dy_xmu[CHANNELS], own_dy[CHANNELS], own_dy_xmu[CHANNELS];
    const double *mean = r->moments + SBN_MOMENT_MEAN * CHANNELS;
    const double *invstd = r->moments + SBN_MOMENT_INVSTD * CHANNELS;
    const double *var = r->moments + SBN_MOMENT_VAR * CHANNELS;
    host_gradient_sums(s->all, s->format, s->all_wide, mean, dy, dy_xmu);
    host_gradient_sums(is_own ? s->of[1] : s->all, s->format, is_own ? s->wide_of[1] : s->all_wide,
                       mean, own_dy, own_dy_xmu);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const sbn_double_float g = sbn__split_double(dy[c] / (double)count);
        const double k = invstd[c] * invstd[c] * dy_xmu[c] / (double)count;
        r->gradients[SBN_ROW_G_HIGH * CHANNELS + c] = g.high;
        r->gradients[SBN_ROW_G_LOW * CHANNELS + c] = g.low;
        const int constant = sbn__is_clamped(var[c], eps) && isfinite(dy[c]);
        r->gradients[SBN_ROW_K * CHANNELS + c] = constant ? 0.0f : (float)k;
        r->gradients[SBN_ROW_WEIGHT_GRAD * CHANNELS + c] = (float)(own_dy_xmu[c] * invstd[c]);
        r->gradients[SBN_ROW_BIAS_GRAD * CHANNELS + c] = (float)own_dy[c];
    }
}

/* Rows of floats or doubles; any two NaN are equal. */
#define SAME(a, b) same(a, b, sizeof(a) / sizeof *(a), sizeof *(a))

static int same(const void *a, const void *b, size_t count, size_t size)
{
    for (size_t i = 0; i < count; ++i) {
        const void *got = (const char *)a + size * i, *right = (const char *)b + size * i;
        const double x = size == sizeof(float) ? *(const float *)got : *(const double *)got;
        const double y = size == sizeof(float) ? *(const float *)right : *(const double *)right;
        if (memcmp(got, right, size) != 0 && !(isnan(x) && isnan(y))) {
            tap_note("[%zu] of %zu: expected %a, got %a", i, count, y, x);
            return 0;
        }
    }
    return 1;
}

int rows_equal(const rows *got, const rows *expected)
{
    return SAME(got->coefficients, expected->coefficients) &&
           SAME(got->gradients, expected->gradients) && SAME(got->running, expected->running) &&
           SAME(got->moments, expected->moments) && got->batches == expected->batches;
}
