/*
 * The checker's own test: it accepts what the library computes, and refuses each result that is
 * off by few units, wherever it is. A tolerance that lets more through would be vacuous; that none
 * is too narrow is tests/tools/check.sh. On PoCL.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/compare.h"
#include "check/elements.h"
#include "support/tap.h"
#include "support/trial.h"
#include "support/wraps.h"

/* By how many units, each 2^-24 of an output's largest magnitude, a float is off that is refused. */
typedef double units_of[OUTPUTS];

#define UNITS(mean, var, y, evaluated, dx, weight_grad, bias_grad, running) \
    { \
        [OUT_MEAN] = mean, [OUT_VAR] = var, [OUT_Y] = y, [OUT_AGAIN] = 1, [OUT_EVAL] = evaluated, \
        [OUT_DX] = dx, [OUT_WEIGHT_GRAD] = weight_grad, [OUT_BIAS_GRAD] = bias_grad, \
        [OUT_RUNNING_MEAN] = running, [OUT_RUNNING_VAR] = running \
    }
static const units_of usual = UNITS(32, 64, 32, 8, 64, 1024, 64, 16);
static const units_of poor = UNITS(64, 32, 32, 8, 512, 256, 64, 64); /* pivots */
static const units_of exact = UNITS(1, 1, 8, 8, 16, 8, 1, 16);       /* sums */
static const units_of tiny = UNITS(32, 32, 0, 0, 0, 512, 512, 16);   /* gradients */

/*
 * Results that have the bits of a layer apart are judged by these, too; where `off` is NULL,
 * alone, as the gradient of a residual always is.
 */
static const struct {
    const char *line;
    const units_of *off;
} problems[] = {
    {"mb8ic4ih14iw14,r2", &usual},
    {"mb8ic4ih14iw14,last", &usual},
    {"mb1ic64ih16iw16,data=step,grad=step", &poor},
    {"mb1ic64ih16iw16,data=border,grad=border", &poor},
    {"mb8ic4ih16iw16,r2,data=exact,grad=exact", &exact},
    {"mb8ic4ih14iw14,f16,r2,grad=denormal", &tiny},
    {"mb8ic4ih14iw14,f16,r2,data=tiny_var,grad=huge", &usual},
    {"mb8ic16ih28iw28,f16,r2", &usual},
    {"mb8ic4ih14iw14,bf16,r2", &usual},
    {"mb8ic4ih14iw14,relu", &usual},
    {"mb8ic4ih14iw14,leaky", &usual},
    {"mb8ic4ih14iw14,add", &usual},
    {"mb8ic4ih14iw14,f16,add", &usual},
    {"mb8ic4ih14iw14,bf16,relu,add", &usual},
    {"mb8ic4ih14iw14,bf16,leaky=0.9", &usual},
    {"mb8ic4ih14iw14,relu,data=nan", NULL},
    {"mb8ic4ih14iw14,relu,data=zero,plain", NULL},
    {"mb8ic4ih14iw14,leaky,data=zero,plain", NULL},
    {"mb8ic4ih14iw14,f16,relu,data=denormal,plain,eps=100", NULL},
    {"mb8ic4ih14iw14,r2,frozen", NULL},
};

static comparison judged(const trial *t)
{
    comparison result;
    if (compare(&t->p, &t->g, &t->in, &t->out, &result))
        abort();
    return result;
}

/* The next value of the type, nearer to 0. */
static float next(sbn_type type, float value)
{
    uint16_t bits;
    if (type == SBN_F32)
        return nextafterf(value, value == 0 ? 1 : 0);
    elements_pack(type, &value, 1, &bits);
    bits = (uint16_t)(value == 0 ? 1 : bits - 1);
    elements_unpack(type, &bits, 1, &value);
    return value;
}

/* All values, up and down in turn; by 0 units: to the next ones. */
static void move(output *o, sbn_type type, double units)
{
    double largest = 0;
    for (size_t i = 0; i < o->count; ++i)
        largest = isfinite(o->data[i]) ? fmax(largest, fabs(o->data[i])) : largest;
    const double by = ldexp(units * largest, -24);
    for (size_t i = 0; i < o->count; ++i)
        o->data[i] = isnan(o->data[i]) ? 0
                     : units > 0       ? (float)(o->data[i] + (i % 2 ? by : -by))
                                       : next(type, o->data[i]);
}

/* As many values of an output that is off are refused, as often as each is judged. */
static void check_output(trial *t, output_id id, sbn_type type, double units, double least)
{
    output *o = &t->out.of[id], right = *o;
    o->data = malloc(sizeof *o->data * o->count);
    if (!o->data)
        abort();
    memcpy(o->data, right.data, sizeof *o->data * o->count);
    move(o, type, units);
    const double refused = (double)judged(t).of[id].failures / (double)o->count;
    tap_ok(refused >= least, "%s off by %g units: %.4f are refused, expected %g", output_names[id],
           units, refused, least);
    free(o->data);
    *o = right;
}

static void check_outputs(trial *t, const units_of *off)
{
    for (int i = 0; i < OUTPUTS; ++i) {
        const output_id id = (output_id)i;
        const int is_stored = t->p.type != SBN_F32 && id >= OUT_Y && id <= OUT_RESIDUAL_GRAD;
        const sbn_type type = is_stored ? t->p.type : SBN_F32;
        const int is_residual_grad = id == OUT_RESIDUAL_GRAD;
        if (!t->out.of[i].data ||
            (off ? is_residual_grad : !is_residual_grad && !t->out.apart->of[i].data))
            continue;
        if (!off)
            check_output(t, id, type, 0, 1);
        else if (is_stored) /* near the middle of two values both are right */
            check_output(t, id, type, 0, 0.97);
        else
            check_output(t, id, type, (*off)[i], 1);
    }
}

static void check_counts(trial *t)
{
    t->out.count -= 1;
    tap_ok(!judged(t).ok, "a value too few is refused");
    t->out.count += 2;
    tap_ok(!judged(t).ok, "a value too many is refused");
    t->out.count -= 1;
    ++t->out.batches;
    tap_ok(!judged(t).ok, "a batch too many is refused");
    --t->out.batches;
}

static void check(queues *r, const char *line, const units_of *off)
{
    char error[RUNNER_ERROR] = "";
    trial t;
    trial_make(&t, line, 1);
    if (tap_ok(!trial_run(&t, r, error) && judged(&t).ok, "%s is accepted%s", line, error)) {
        struct outputs *const apart = t.out.apart;
        if (apart)
            check_outputs(&t, NULL);
        t.out.apart = NULL;
        if (off)
            check_outputs(&t, off);
        check_counts(&t);
        t.out.apart = apart;
    }
    trial_free(&t);
}

/* A zero of the other sign is shown, as what is worst. */
static void check_sign(queues *r)
{
    enum { AT = 7 };
    char error[RUNNER_ERROR] = "";
    trial t;
    trial_make(&t, "mb8ic4ih14iw14,relu,plain,data=zero", 1);
    if (tap_ok(!trial_run(&t, r, error), "a pass: %s", error)) {
        t.out.of[OUT_Y].data[AT] = -0.0f;
        const comparison result = judged(&t);
        const verdict *v = &result.of[OUT_Y];
        tap_ok(!result.ok && v->index == AT && v->ratio > 1 && signbit(v->got),
               "-0 in place of 0 at %d: %zu are refused, the worst at %zu with a ratio of %g", AT,
               v->failures, v->index, v->ratio);
    }
    trial_free(&t);
}

/*
 * Gradients of products and sums that overflow a float in some channels and replicas: what is not finite is
 * accepted there and nowhere else.
 */
static void check_overflows(queues *r)
{
    static const char *const lines[] = {"mb16ic8il5,grad=largest",
                                        "mb16ic8il5,data=constant,grad=largest",
                                        "mb64ic8,r8,grad=largest",
                                        "mb64ic8,r8,grad=largest,eps=1e6,clamp",
                                        "mb64ic8,r8,grad=largest,frozen",
                                        "mb4ic4,f16,r2,data=wide",
                                        "mb2ic4,output,grad=largest,seed75",
                                        "mb4ic4ih14iw14,r2,data=huge,grad=exact",
                                        "mb4ic4ih16iw16,relu,data=largest,grad=largest,seed7"};
    static const output_id gradients[] = {OUT_DX, OUT_WEIGHT_GRAD, OUT_BIAS_GRAD};
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    char error[RUNNER_ERROR] = "";
    for (size_t n = 0; n < sizeof lines / sizeof *lines; ++n) {
        trial t;
        trial_make(&t, lines[n], 1);
        const int right = !trial_run(&t, r, error) && judged(&t).ok;
        struct outputs *const apart = t.out.apart;
        tap_ok(right, "%s is accepted%s", lines[n], error);
        t.out.apart = NULL;
        for (size_t i = 0; i < 9 && right; ++i) {
            output *o = &t.out.of[gradients[i / 3]], saved = *o;
            size_t planted = 0;
            o->data = malloc(sizeof *o->data * o->count);
            if (!o->data)
                abort();
            for (size_t k = 0; k < o->count; ++k) {
                /* Near the largest float Inf is right, too. */
                const int is_usual = fabsf(saved.data[k]) < 0x1.fep127f;
                planted += (size_t)is_usual;
                o->data[k] = is_usual ? wrong[i % 3] : saved.data[k];
            }
            const size_t refused = judged(&t).of[gradients[i / 3]].failures;
            tap_ok(refused == planted, "%s %g in place of %zu finite values: %zu are refused",
                   output_names[gradients[i / 3]], (double)wrong[i % 3], planted, refused);
            free(o->data);
            *o = saved;
        }
        t.out.apart = apart;
        trial_free(&t);
    }
}

/* Of a forward and a backward pass of two layers, each wait for the one or the other layer fails in turn. */
static void check_waits(queues *r)
{
    static const char line[] = "mb4ic4,ooo,branch1,passes=fb";
    char error[RUNNER_ERROR];
    trial t;
    trial_make(&t, line, 1);
    for (int n = 1; n <= 4; ++n) {
        wraps_fail(WRAP_WAIT, n);
        const int status = trial_run(&t, r, error);
        tap_ok(status == CL_OUT_OF_RESOURCES && wraps_failed == WRAP_WAIT, "%s, wait %d fails: %s",
               line, n, status ? error : "no error");
    }
    wraps_fail(WRAP_WAIT, 0);
    trial_free(&t);
}

int main(void)
{
    char error[RUNNER_ERROR];
    queues *r = trial_pocl(NULL, error);
    if (!r)
        return tap_missing("%s", error);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; ++i)
        check(r, problems[i].line, problems[i].off);
    check_sign(r);
    check_overflows(r);
    check_waits(r);
    queues_close(r);
    return tap_done();
}
