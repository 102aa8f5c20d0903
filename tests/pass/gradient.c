/*
 * The reference's dx and gradients of weight, bias and residual against finite differences of its own
 * forward pass, mean and variance included: L = sum dy f(z), in float64. What the library computes is held
 * against the reference by tests/tools/check.sh.
 *
 *   dL/dx ~ (8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12h,   h = 2^-8
 *
 * Inputs are multiples of 2^-10, so that x + h is exact. Behind an activation there are differences only
 * where no z changes its sign.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/fusion.h"
#include "check/reference.h"
#include "support/fixture.h"
#include "support/trial.h"

enum { CHANNELS = 3, VALUES = 32, ELEMENTS = CHANNELS * VALUES };

/* Of the largest gradient: what a wrong term would exceed by far. */
#define TOLERANCE 1e-9

static const struct {
    const char *line;
    int clamped;
} cases[] = {
    {"mb4ic3il8", 0},
    {"mb4ic3ih2iw4,split1-3,eps=0.25", 0},
    {"mb32ic3,split5-27", 0},
    {"mb4ic3il8,clamp,eps=0.001", 0},
    {"mb4ic3il8,split3-1,clamp,eps=16", 1},
    {"mb4ic3il8,plain,eps=0.25", 0},
    {"mb4ic3il8,relu", 0},
    {"mb4ic3ih2iw4,leaky=0.25,add,split1-3,eps=0.25", 0},
    {"mb32ic3,relu,add,split5-27", 0},
};

static void cut(float *values, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        values[i] = rintf(values[i] * 1024.0f) / 1024.0f;
}

static double weight_of(const trial *t, size_t c)
{
    return t->p.affine ? t->in.weight[c] : 1;
}

/* z of every element, and L. */
static double forward(const trial *t, double z[ELEMENTS])
{
    reference ref;
    double sum = 0;
    must(reference_make(&t->p, &t->g, &t->in, &ref), "reference_make");
    for (size_t c = 0; c < CHANNELS; ++c)
        for (size_t s = 0; s < t->g.samples; ++s) {
            const size_t start = placement_plane_start(&t->g, s, c);
            for (size_t i = start; i < start + t->g.sample[s].plane; ++i) {
                z[i] = reference_y(&ref.channel[c], weight_of(t, c),
                                   t->p.affine ? t->in.bias[c] : 0, t->in.x[i]) +
                       (t->p.residual ? t->in.residual[i] : 0);
                sum += t->in.dy[i] * fusion_activation(&t->p, z[i]);
            }
        }
    reference_free(&ref);
    return sum;
}

/* The difference quotient for a number; 0 where a z changes its sign. */
static int difference(trial *t, const double *z, float *at, double *quotient)
{
    static const double steps[] = {1, -1, 2, -2}, factors[] = {8, -8, -1, 1}, h = 0x1p-8;
    const float before = *at;
    int same = 1;
    *quotient = 0;
    for (int k = 0; k < 4; ++k) {
        double moved[ELEMENTS];
        *at = before + (float)(steps[k] * h);
        *quotient += factors[k] * forward(t, moved) / (12 * h);
        for (size_t i = 0; i < ELEMENTS; ++i)
            same = same && (t->p.activation == SBN_IDENTITY || (moved[i] > 0) == (z[i] > 0));
    }
    *at = before;
    return same;
}

/* The worst of a kind of gradient, and how many there were. */
typedef struct worst {
    double error, largest;
    int judged;
} worst;

static void judge(worst *w, trial *t, const double *z, float *at, double expected)
{
    double quotient;
    if (!difference(t, z, at, &quotient))
        return;
    w->error = fmax(w->error, fabs(quotient - expected));
    w->largest = fmax(w->largest, fabs(expected));
    ++w->judged;
}

static void report(const char *line, const char *what, worst w, int least)
{
    tap_ok(w.judged >= least && w.error <= TOLERANCE * w.largest,
           "%s: %s: %d of %d at least, off by %.3g of %.3g at most", line, what, w.judged, least,
           w.error, w.largest);
}

static void check(const char *line, int clamped)
{
    worst x = {0, 0, 0}, weight = x, bias = x, residual = x;
    double z[ELEMENTS], through_mean = 0, through_var = 0;
    float behind[ELEMENTS];
    trial t;
    reference ref;
    trial_make(&t, line, 1);
    cut(t.in.x, ELEMENTS);
    cut(t.in.weight, CHANNELS);
    cut(t.in.bias, CHANNELS);
    if (t.p.residual)
        cut(t.in.residual, ELEMENTS);
    forward(&t, z);
    for (size_t i = 0; i < ELEMENTS; ++i) {
        /* Leaning on x, so that much passes through the variance. */
        t.in.dy[i] = 0.5f * (t.in.dy[i] + t.in.x[i] + 1);
        behind[i] = fusion_gradient(&t.p, (float)z[i], t.in.dy[i]);
    }
    inputs of_batch_norm = t.in;
    of_batch_norm.dy = behind;
    must(reference_make(&t.p, &t.g, &of_batch_norm, &ref), "reference_make");
    for (size_t c = 0; c < CHANNELS; ++c) {
        const reference_channel *ch = &ref.channel[c];
        for (size_t s = 0; s < t.g.samples; ++s) {
            const size_t start = placement_plane_start(&t.g, s, c);
            for (size_t i = start; i < start + t.g.sample[s].plane; ++i) {
                const double d = t.in.x[i] - ch->mean;
                judge(&x, &t, z, &t.in.x[i],
                      reference_dx(&ref, ch, weight_of(&t, c), t.in.x[i], behind[i]));
                if (t.p.residual)
                    judge(&residual, &t, z, &t.in.residual[i], behind[i]);
                through_var = fmax(through_var, fabs(d * ch->all.dy_centered / VALUES) *
                                                    ch->invstd * ch->invstd * ch->invstd);
            }
        }
        through_mean = fmax(through_mean, fabs(ch->all.dy / VALUES) * ch->invstd);
        if (t.p.affine) {
            judge(&weight, &t, z, &t.in.weight[c], ch->invstd * ch->all.dy_centered);
            judge(&bias, &t, z, &t.in.bias[c], ch->all.dy);
        }
        tap_ok(ch->clamped == clamped, "%s: channel %zu is clamped: %d", line, c, ch->clamped);
    }
    report(line, "dx", x, ELEMENTS / 2);
    if (t.p.affine) {
        report(line, "weight_grad", weight, 1);
        report(line, "bias_grad", bias, 1);
    }
    if (t.p.residual)
        report(line, "residual_grad", residual, ELEMENTS / 2);
    tap_ok(through_mean > 0.01 * x.largest && through_var > 0.01 * x.largest,
           "%s: of %.3g at most, %.3g through the mean and %.3g through the variance", line,
           x.largest, through_mean, through_var);
    reference_free(&ref);
    trial_free(&t);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        check(cases[i].line, cases[i].clamped);
    return tap_done();
}
