/*
 * dx, weight_grad, bias_grad and residual_grad against finite differences of the library's own
 * forward pass in training, mean and variance included: L = sum y dy in float64, from the floats
 * that it wrote.
 *
 *   dL/dx ~ (8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12h,   h = 2^-3
 *
 * x is rounded to multiples of 2^-10, so that x + h is exact. The tolerance of an element has two
 * parts, printed with it:
 *
 * Rounding. y is off by at most delta = u (10 |a d| + 4 |b| + 9 |a| D), u = 2^-24, d = x - mean, D
 * the largest |d|: 4u for the apply; the mean by 9u D and invstd by 6u, since a block of at most 64
 * elements rounds a sum 1 + 6 + 2 times. Under a step a and d change by less than a quarter each,
 * which 1.5 covers. L is off by R = sum |dy| delta, the difference by 18 R / 12h.
 *
 * Truncation. With one x moved by t, L(t) = w (A + B t) / sqrt(s(t)) + const, where A = sum dy d,
 * B = dy - mean of dy, s(t) = var + eps + 2 d t / N + (1 - 1/N) t^2 / N. It is analytic where
 * |s| >= s(0) / 2, in a disc |t| <= r; by Cauchy's estimate at a distance r - 2h,
 *
 *   h^4 / 30 |L'''''| <= 4 h^4 |w| (|A| + |B| r) / sqrt(s(0) / 2) / (r - 2h)^5.
 *
 * Rounding y to f16 or bf16 would hide the differences. For a layer that stores such a type L is that
 * of the same layer in f32, at numbers of the type; dx may be off by half a step of the type more.
 *
 * L is linear in weight, bias and the residual, and in x where eps has replaced the variance: no
 * truncation.
 *
 * Behind an activation there are differences only where no z changes its sign: x is moved away from its
 * channel's mean by 3, bias and residual are small, and signs are looked at in every pass. dy above is
 * then dy times the activation's slope there. A residual and a slope round y twice more: 2u of its
 * three terms.
 *
 * From the output the gradients are those of an x that is off by the bounds of doc/from-output.md, which are
 * added.
 *
 * The tolerance must not hide what is tested: in each channel the terms of dx through the mean and
 * through the variance exceed it tenfold for some element.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/elements.h"
#include "check/fusion.h"
#include "pass/gradient_terms.h"
#include "support/sample.h"
#include "support/tap.h"

static const double h = GRADIENT_STEP, u = 0x1p-24;

/* Two replicas, N = 32 values of 3 channels. */
static const struct {
    const char *line;
    int clamped;
} cases[] = {
    {"mb4ic3il8,r2,global", 0},
    {"mb4ic3ih2iw4,split1-3,last,global,eps=0.25", 0},
    {"mb32ic3,split5-27,global", 0},
    {"mb4ic3il8,r2,global,clamp,eps=0.001", 0},
    {"mb4ic3il8,split3-1,last,global,clamp,eps=16", 1},
    {"mb4ic3il8,f16,r2,global", 0},
    {"mb4ic3ih2iw4,f16,last,split1-3,global,eps=0.25", 0},
    {"mb32ic3,bf16,split5-27,global", 0},
    {"mb4ic3ih2iw4,bf16,r2,global,eps=0.25", 0},
    {"mb4ic3il8,bf16,split3-1,last,global,clamp,eps=16", 1},
    {"mb4ic3il8,relu,r2,global", 0},
    {"mb4ic3ih2iw4,leaky=0.25,add,last,split1-3,global,eps=0.25", 0},
    {"mb32ic3,relu,add,split5-27,global", 0},
    {"mb4ic3il8,output,r2,global", 0},
    {"mb4ic3ih2iw4,leaky=0.25,output,inplace,last,split1-3,global,eps=0.25", 0},
};

/* L of each channel: their losses do not mix. `z`: what the activation had in the middle. */
static int losses(trial *t, runner *r, const float *z, double *loss)
{
    char error[RUNNER_ERROR];
    if (trial_run(t, r, error))
        return tap_ok(0, "a forward pass: %s", error);
    for (size_t i = 0; t->p.activation != SBN_IDENTITY && i < t->g.elements; ++i)
        if ((t->out.preactivation[i] > 0) != (z[i] > 0))
            return tap_ok(0, "z %g keeps its sign: %g", z[i], t->out.preactivation[i]);
    for (size_t c = 0; c < CHANNELS; ++c) {
        loss[c] = 0.0;
        for (size_t j = 0; j < t->g.values; ++j) {
            const size_t i = gradient_place(t, c, j);
            loss[c] += (double)t->out.of[OUT_Y].data[i] * t->in.dy[i];
        }
    }
    return 1;
}

/* The difference quotient of each channel for its own number at at[c]. */
static int difference(trial *t, runner *r, const float *z, float *const *at, double *quotient)
{
    static const double steps[] = {1, -1, 2, -2}, weights[] = {8, -8, -1, 1};
    double loss[CHANNELS];
    memset(quotient, 0, sizeof *quotient * CHANNELS);
    for (int k = 0; k < 4; ++k) {
        float before[CHANNELS];
        for (size_t c = 0; c < CHANNELS; ++c) {
            before[c] = *at[c];
            *at[c] += (float)(steps[k] * h);
        }
        const int ran = losses(t, r, z, loss);
        for (size_t c = 0; c < CHANNELS; ++c) {
            *at[c] = before[c];
            quotient[c] += weights[k] * loss[c] / (12 * h);
        }
        if (!ran)
            return 0;
    }
    return 1;
}

/* The worst of a kind of gradient, over a case. */
typedef struct worst {
    double ratio, error, rounding, truncation;
} worst;

static void judge(worst *w, double error, double rounding, double cut)
{
    const double ratio = fabs(error) / (rounding + cut);
    if (!(ratio <= w->ratio))
        *w = (worst){ratio, fabs(error), rounding, cut};
}

static void report(const char *device, const char *line, const char *what, worst w)
{
    tap_ok(w.ratio <= 1.0, "%s: %s: %s: error %.3g, tolerance %.3g + %.3g: %.3g of it", device,
           line, what, w.error, w.rounding, w.truncation, w.ratio);
}

static void check(runner *r, const char *device, const char *line, int clamped)
{
    worst x = {0, 0, 0, 0}, weight = x, bias = x, residual = x;
    double quotient[CHANNELS], mean_seen[CHANNELS] = {0}, var_seen[CHANNELS] = {0};
    float *at[CHANNELS];
    channel of[CHANNELS];
    trial given, t;
    char error[RUNNER_ERROR];
    trial_make(&given, line, 1);
    trial_make(&t, line, 1);
    gradient_fill(&given);
    gradient_fill(&t);
    t.p.passes = PASS_FORWARD;
    t.p.type = SBN_F32;
    int ran = !trial_run(&given, r, error) || tap_ok(0, "%s: %s", line, error);
    const float *z = given.out.preactivation;
    for (size_t i = 0; z && i < given.g.elements; ++i)
        given.in.dy[i] = fusion_gradient(&given.p, z[i], given.in.dy[i]);
    for (size_t c = 0; c < CHANNELS; ++c)
        of[c] = gradient_terms(&given, c);
    for (size_t j = 0; j < given.g.values && ran; ++j) {
        for (size_t c = 0; c < CHANNELS; ++c)
            at[c] = &t.in.x[gradient_place(&t, c, j)];
        ran = difference(&t, r, z, at, quotient);
        for (size_t c = 0; c < CHANNELS; ++c) {
            const size_t i = gradient_place(&given, c, j);
            const double n = (double)given.g.values, d = given.in.x[i] - of[c].mean;
            const double dy = given.in.dy[i], p = fabs(given.in.weight[c]) * of[c].invstd;
            const double k = clamped ? 0 : fabs(of[c].product) / of[c].s0 / n;
            const double cut = clamped ? 0 : gradient_truncation(&given, c, &of[c], d, dy);
            /* dx's own bound of 8u per term, doubled for the sums that it is made of. */
            const float dx = given.out.of[OUT_DX].data[i];
            const double half = given.p.type == SBN_F32 ? 0 : element_step(given.p.type, dx) / 2;
            const double own = half +
                               16 * u * p * (fabs(dy) + fabs(of[c].dy_mean) + 2 * k * fabs(d));
            const double recovered = gradient_recovery_dx(&given, c, &of[c], d);
            judge(&x, dx - quotient[c], of[c].rounding + own + recovered, cut);
            const double tolerance = of[c].rounding + own + recovered + cut;
            mean_seen[c] = fmax(mean_seen[c], p * fabs(of[c].dy_mean) / tolerance);
            var_seen[c] = fmax(var_seen[c], p * k * fabs(d) / tolerance);
        }
    }
    for (size_t j = 0; t.in.residual && j < given.g.values && ran; j += 5) {
        for (size_t c = 0; c < CHANNELS; ++c)
            at[c] = &t.in.residual[gradient_place(&t, c, j)];
        ran = difference(&t, r, z, at, quotient);
        for (size_t c = 0; c < CHANNELS; ++c) {
            const float got = given.out.of[OUT_RESIDUAL_GRAD].data[gradient_place(&given, c, j)];
            const double half = given.p.type == SBN_F32 ? 0 : element_step(given.p.type, got) / 2;
            judge(&residual, got - quotient[c], of[c].rounding + half, 0);
        }
    }
    for (size_t c = 0; c < CHANNELS; ++c)
        at[c] = &t.in.weight[c];
    ran = ran && difference(&t, r, z, at, quotient);
    for (size_t c = 0; c < CHANNELS && ran; ++c)
        judge(&weight, given.out.of[OUT_WEIGHT_GRAD].data[c] - quotient[c],
              of[c].rounding + of[c].recovered, 0);
    for (size_t c = 0; c < CHANNELS; ++c)
        at[c] = &t.in.bias[c];
    ran = ran && difference(&t, r, z, at, quotient);
    for (size_t c = 0; c < CHANNELS && ran; ++c)
        judge(&bias, given.out.of[OUT_BIAS_GRAD].data[c] - quotient[c], of[c].rounding, 0);
    if (ran) {
        report(device, line, "dx", x);
        report(device, line, "weight_grad", weight);
        report(device, line, "bias_grad", bias);
        if (t.in.residual)
            report(device, line, "residual_grad", residual);
        for (size_t c = 0; c < CHANNELS; ++c)
            tap_ok(mean_seen[c] >= 10 && (clamped ? var_seen[c] == 0 : var_seen[c] >= 10),
                   "%s: %s: channel %zu: through the mean %.0f, through the variance %.0f "
                   "tolerances",
                   device, line, c, mean_seen[c], var_seen[c]);
    }
    trial_free(&given);
    trial_free(&t);
}

/* A sample has every sixth case on devices without the CPU form: llvmpipe takes eight times as long as PoCL. */
static int has_case(const device_info *device, size_t i)
{
    return device->form == SBN_FORM_CPU || !sample_only() ||
           (sample_has_gpu_form(cases[i].line) && i % 6 == 0);
}

static void check_device(runner *r, const device_info *device)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        if (has_case(device, i))
            check(r, device->name, cases[i].line, cases[i].clamped);
}

int main(void)
{
    return trial_every_device(check_device);
}
