#include "check/verdict.h"

#include <math.h>

#include "check/elements.h"

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
    if (tolerance == INFINITY && isfinite(expected)) {
        /* eps is 0 and the variance may round to 0: then nothing can be expected. */
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
    if (!(ratio <= v->ratio) || index == 0) {
        v->ratio = ratio;
        v->error = error;
        v->tolerance = tolerance;
        v->got = got;
        v->expected = expected;
        v->index = index;
    }
}

void verdict_bits(verdict *v, size_t index, float got, float expected)
{
    v->judged = 1;
    if (digest_floats(&got, 1) != digest_floats(&expected, 1)) {
        ++v->failures;
        verdict_value(v, SBN_F32, index, got, expected, 0);
    }
}
