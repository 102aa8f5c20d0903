/* The terms of the tolerances, and numbers for which they hold. */
#include "pass/gradient_terms.h"

#include <math.h>

#include "check/elements.h"

static const double h = GRADIENT_STEP, u = 0x1p-24;

size_t gradient_place(const trial *t, size_t c, size_t j)
{
    const size_t plane = t->g.sample[0].plane;
    return placement_plane_start(&t->g, j / plane, c) + j % plane;
}

/* Away from where the activation bends. */
static void part(trial *t)
{
    for (size_t c = 0; c < CHANNELS; ++c) {
        double mean = 0;
        for (size_t j = 0; j < t->g.values; ++j)
            mean += t->in.x[gradient_place(t, c, j)] / (double)t->g.values;
        for (size_t j = 0; j < t->g.values; ++j)
            t->in.x[gradient_place(t, c, j)] += t->in.x[gradient_place(t, c, j)] > mean ? 3.0f
                                                                                        : -3.0f;
        t->in.bias[c] /= 64.0f;
    }
    for (size_t i = 0; t->in.residual && i < t->g.elements; ++i)
        t->in.residual[i] /= 64.0f;
}

/* x and dy remain multiples of 2^-10 in any type. */
void gradient_fill(trial *t)
{
    const sbn_type type = t->p.type;
    if (t->p.activation != SBN_IDENTITY)
        part(t);
    for (size_t i = 0; t->in.residual && i < t->g.elements; ++i)
        t->in.residual[i] = element_round(type, rintf(t->in.residual[i] * 1024.0f) / 1024.0f);
    for (size_t i = 0; i < t->g.elements; ++i) {
        t->in.x[i] = element_round(type, rintf(t->in.x[i] * 1024.0f) / 1024.0f);
        /* Leaning on x, so that much passes through the variance. */
        const float dy = 0.5f * t->in.dy[i] + 0.5f * t->in.x[i] + 0.5f;
        t->in.dy[i] = element_round(type, rintf(dy * 1024.0f) / 1024.0f);
    }
    for (size_t c = 0; c < CHANNELS; ++c) {
        t->in.weight[c] = rintf(t->in.weight[c] * 1024.0f) / 1024.0f;
        t->in.bias[c] = rintf(t->in.bias[c] * 1024.0f) / 1024.0f;
    }
}

/* (1) of doc/from-output.md, in f32: how far x_hat is off at d = x - mean. 0 of other layers. */
static double recovery(const trial *t, size_t c, const channel *a, double d)
{
    if (!t->p.from_output)
        return 0;
    return 9 * u * (fabs(d) * a->invstd + fabs((double)t->in.bias[c] / t->in.weight[c]));
}

channel gradient_terms(const trial *t, size_t c)
{
    const double n = (double)t->g.values, weight = t->in.weight[c], bias = t->in.bias[c];
    channel a = {0, 0, 0, 0, 0, 0, 0};
    double var = 0, most = 0;
    for (size_t j = 0; j < t->g.values; ++j) {
        a.mean += t->in.x[gradient_place(t, c, j)] / n;
        a.dy_mean += t->in.dy[gradient_place(t, c, j)] / n;
    }
    for (size_t j = 0; j < t->g.values; ++j) {
        const double d = t->in.x[gradient_place(t, c, j)] - a.mean;
        var += d * d / n;
        a.product += t->in.dy[gradient_place(t, c, j)] * d;
        most = fmax(most, fabs(d));
    }
    a.s0 = t->p.eps_mode == SBN_EPS_CLAMP ? fmax(var, t->p.eps) : var + t->p.eps;
    a.invstd = 1 / sqrt(a.s0);
    for (size_t j = 0; j < t->g.values; ++j) {
        const double d = t->in.x[gradient_place(t, c, j)] - a.mean, scale = fabs(weight) * a.invstd;
        const double r = t->in.residual ? fabs(t->in.residual[gradient_place(t, c, j)]) : 0;
        const double more = problem_is_fused(&t->p) ? 2 * (scale * fabs(d) + fabs(bias) + r) : 0;
        a.rounding += 1.5 * fabs(t->in.dy[gradient_place(t, c, j)]) * u *
                      (10 * scale * fabs(d) + 4 * fabs(bias) + 9 * scale * most + more);
        a.recovered += fabs(t->in.dy[gradient_place(t, c, j)]) * recovery(t, c, &a, d);
    }
    a.rounding *= 18 / (12 * h);
    return a;
}

double gradient_truncation(const trial *t, size_t c, const channel *a, double d, double dy)
{
    const double n = (double)t->g.values, slope = 2 * fabs(d) / n, bend = (1 - 1 / n) / n;
    /* The largest r with slope r + bend r^2 = s0 / 2. */
    const double radius = (-slope + sqrt(slope * slope + 2 * bend * a->s0)) / (2 * bend);
    const double size = fabs(t->in.weight[c]) *
                        (fabs(a->product) + fabs(dy - a->dy_mean) * radius) / sqrt(a->s0 / 2);
    return 4 * pow(h, 4) * size / pow(radius - 2 * h, 5);
}

double gradient_recovery_dx(const trial *t, size_t c, const channel *a, double d)
{
    const double n = (double)t->g.values, off = recovery(t, c, a, d);
    return fabs(t->in.weight[c]) * a->invstd *
           (fabs(a->product) * a->invstd / n * off +
            (fabs(d) * a->invstd + off) * a->recovered / n);
}
