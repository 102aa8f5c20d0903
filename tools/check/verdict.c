#include "check/verdict.h"

#include <math.h>

#include "check/elements.h"

static const double u = BOUND_UNIT;

/* Besides the roundings, what float's underflow may cost. */
double tolerance_apply(double a, double centered, double bias)
{
    return 4 * u * (fabs(a * centered) + fabs(bias)) + BOUND_UNDERFLOW * (1 + fabs(centered));
}

double tolerance_y(const reference_channel *ch, double weight, double bias, double x)
{
    const channel_bounds *b = &ch->bound;
    double a = weight * ch->invstd, centered = x - ch->mean;
    return tolerance_apply(a, centered, bias) +
           fabs(a) * (b->mean * (1 + b->invstd) + fabs(centered) * b->invstd);
}

double tolerance_dx(const reference *ref, const reference_channel *ch, double weight, double x,
                    double dy)
{
    const channel_bounds *b = &ch->bound;
    if (ref->frozen)
        return 8 * u * fabs(weight * ch->invstd * dy) + BOUND_UNDERFLOW * (1 + fabs(dy));
    double n = ref->count, grow = 1 + b->invstd, square = ch->invstd * ch->invstd;
    double p = fabs(weight * ch->invstd), g = ch->all.dy / n;
    double full_t = fabs(square * ch->all.dy_centered / n), t = ch->clamped ? 0 : full_t;
    double t_error = t * (grow * grow - 1) + grow * grow * square * b->all.dy_centered / n;
    if (b->may_clamp)
        t_error += full_t;
    else if (ch->clamped)
        t_error = 0;
    double g_error = b->all.dy / n + BOUND_TWO_FLOATS * fabs(g);
    double centered = fabs(x - ch->mean), dy_centered = fabs(dy - g);
    double r = u * p * (fabs(g) + t * fabs(ch->mean));
    return 8 * u * (p * dy_centered + p * t * centered + r) +
           BOUND_UNDERFLOW * (1 + centered + dy_centered) +
           p * (dy_centered * b->invstd +
                grow * (g_error + centered * (t_error + t * b->invstd) + b->mean * (t + t_error)));
}

double tolerance_recovered(const reference *ref, const reference_channel *ch, double weight,
                           double recovery)
{
    const double grow = 1 + ch->bound.invstd, square = ch->invstd * ch->invstd;
    const double most = fabs(ch->all.dy_centered) + ch->bound.all.dy_centered;
    if (recovery == 0 || (ch->clamped && !ch->bound.may_clamp))
        return 0;
    return fabs(weight * ch->invstd) * grow * grow * grow * square * most / ref->count * recovery;
}

/* A computed value as the type stores it. */
static double stored(sbn_type type, double value)
{
    return element_round(type, (float)value);
}

/* 1 if a result that is infinite or NaN, or should be, is as it must be. */
static int fits(sbn_type type, float got, double expected, double tolerance)
{
    if (!isfinite(expected))
        return isnan(got) || got == expected;
    return type == SBN_F32 ? got == (float)expected
                           : got >= stored(type, expected - tolerance) &&
                                 got <= stored(type, expected + tolerance);
}

void verdict_value(verdict *v, sbn_type type, size_t index, float got, double expected,
                   double tolerance)
{
    double error, ratio;
    if (!(tolerance < INFINITY) && isfinite(expected)) {
        /* eps is 0 and the variance may round to 0: then nothing can be expected. Times 0 that is NaN. */
        error = ratio = 0;
        ++v->unbounded;
    } else if (!isfinite(got) || !isfinite(expected) || fabs((double)(float)expected) == INFINITY) {
        error = fits(type, got, expected, tolerance) ? 0 : INFINITY;
        ratio = error;
    } else {
        if (type != SBN_F32) {
            tolerance = fmax(got >= expected ? stored(type, expected + tolerance) - expected
                                             : expected - stored(type, expected - tolerance),
                             0);
        }
        error = fabs((double)got - expected);
        ratio = error == 0 ? 0 : tolerance > 0 ? error / tolerance : INFINITY;
    }
    v->judged = 1;
    v->failures += !(ratio <= 1);
    if (!(ratio <= v->ratio) || index == 0)
        *v = (verdict){1, v->failures, v->unbounded, ratio, error, tolerance, got, expected, index};
}

void verdict_bits(verdict *v, size_t index, float got, float expected)
{
    v->judged = 1;
    if (digest_floats(&got, 1) == digest_floats(&expected, 1))
        return;
    ++v->failures;
    /* Zeros of other signs have no distance: the first such value is shown. */
    const double error = fabs((double)got - expected);
    if (v->ratio < INFINITY)
        *v = (verdict){1, v->failures, v->unbounded, INFINITY, error, 0, got, expected, index};
}
