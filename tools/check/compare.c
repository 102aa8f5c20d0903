/* Judging outputs; tolerances are derived in compare.h. */
#include "check/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/elements.h"
#include "check/tolerance.h"

/* Everything that a judgement looks at. */
typedef struct judge {
    const problem *p;
    const placement *g;
    const inputs *in;
    const outputs *out;
    const reference *ref;
    const bounds *bound;
} judge;

static const double u = BOUND_UNIT;

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

static void judge_value(verdict *v, sbn_type type, size_t index, float got, double expected,
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

/* y, dx and their like: every element of the batch. */
static void judge_elements(const judge *j, output_id id, verdict *v)
{
    const float *data = j->out->of[id].data;
    const sbn_type type = j->p->type;
    int batch_statistics = id != OUT_EVAL || !j->p->track;
    for (size_t s = 0; s < j->g->samples; ++s) {
        for (size_t c = 0; c < j->g->channels; ++c) {
            const reference_channel *ch = &j->ref->channel[c];
            const channel_bounds *b = &j->bound->channel[c];
            double weight = j->p->affine ? j->in->weight[c] : 1;
            double bias = j->p->affine ? j->in->bias[c] : 0;
            size_t start = placement_plane_start(j->g, s, c);
            for (size_t i = start; i < start + j->g->sample[s].plane; ++i) {
                double x = j->in->x[i];
                if (id == OUT_DX) {
                    double dy = j->in->dy[i];
                    judge_value(v, type, i, data[i], reference_dx(j->ref, ch, weight, x, dy),
                                tolerance_dx(j->ref, ch, b, weight, x, dy));
                } else if (batch_statistics) {
                    judge_value(v, type, i, data[i], reference_y(ch, weight, bias, x),
                                tolerance_y(ch, b, weight, bias, x));
                } else {
                    reference_channel by = {.mean = j->out->of[OUT_RUNNING_MEAN].data[c]};
                    by.invstd = reference_invstd(j->p, j->out->of[OUT_RUNNING_VAR].data[c]);
                    judge_value(v, type, i, data[i], reference_y(&by, weight, bias, x),
                                tolerance_apply(weight * by.invstd, x - by.mean, bias));
                }
            }
        }
    }
}

/* A recomputed y has y's bits. */
static void judge_again(const judge *j, verdict *v)
{
    const output *y = &j->out->of[OUT_Y], *again = &j->out->of[OUT_AGAIN];
    v->judged = 1;
    for (size_t i = 0; i < y->count; ++i) {
        if (digest_floats(y->data + i, 1) != digest_floats(again->data + i, 1)) {
            ++v->failures;
            judge_value(v, SBN_F32, i, again->data[i], y->data[i], 0);
        }
    }
}

/* A float nearest to `expected` is within half a unit of it, whatever else the tolerance allows. */
static double rounding(double expected)
{
    return u * fabs(expected) + BOUND_UNDERFLOW;
}

static void judge_statistics(const judge *j, comparison *result)
{
    int exact = j->p->data == DATA_EXACT;
    for (size_t c = 0; c < j->g->channels; ++c) {
        const reference_channel *ch = &j->ref->channel[c];
        const channel_bounds *b = &j->bound->channel[c];
        double mean = exact ? (float)ch->mean : ch->mean;
        double var = exact ? (float)ch->var : ch->var;
        judge_value(&result->of[OUT_MEAN], SBN_F32, c, j->out->of[OUT_MEAN].data[c], mean,
                    exact ? 0 : b->mean + rounding(mean));
        judge_value(&result->of[OUT_VAR], SBN_F32, c, j->out->of[OUT_VAR].data[c], var,
                    exact ? 0 : b->var + rounding(var));
    }
}

/* running += factor (batch - running): the batch's own error, and few roundings. */
static void judge_running(const judge *j, comparison *result)
{
    double n = j->ref->count, factor = j->ref->factor;
    for (size_t c = 0; c < j->g->channels; ++c) {
        const reference_channel *ch = &j->ref->channel[c];
        const channel_bounds *b = &j->bound->channel[c];
        double mean = 0, var = 0;
        if (factor > 0) {
            double unbiased = n / (n - 1);
            mean = factor * (b->mean + 4 * u * fabs(ch->mean)) + 4 * rounding(ch->running_mean) +
                   4 * u * fabs((1 - factor) * j->in->running_mean[c]);
            var = factor * unbiased * (b->var + 4 * u * ch->var) + 4 * rounding(ch->running_var);
        }
        judge_value(&result->of[OUT_RUNNING_MEAN], SBN_F32, c, j->out->of[OUT_RUNNING_MEAN].data[c],
                    ch->running_mean, mean);
        judge_value(&result->of[OUT_RUNNING_VAR], SBN_F32, c, j->out->of[OUT_RUNNING_VAR].data[c],
                    ch->running_var, var);
    }
}

static void judge_gradients(const judge *j, comparison *result)
{
    int global = (j->p->backward_flags & SBN_GLOBAL_GRADIENTS) != 0;
    int add = (j->p->backward_flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    int exact = j->p->grad == DATA_EXACT && !add;
    for (size_t i = 0; i < j->g->replicas * j->g->channels; ++i) {
        size_t c = i % j->g->channels, r = i / j->g->channels;
        const reference_channel *ch = &j->ref->channel[c];
        const channel_bounds *b = &j->bound->channel[c];
        const gradient_sums *s = global ? &ch->all : &j->ref->local[c * j->g->replicas + r];
        const gradient_sums *e = global ? &b->all : &j->bound->local[c * j->g->replicas + r];
        double weight_before = add ? j->in->weight_before[c] : 0;
        double bias_before = add ? j->in->bias_before[c] : 0;
        double weight = ch->invstd * s->dy_centered;
        double weight_error = ch->invstd * (1 + b->invstd) * e->dy_centered +
                              b->invstd * fabs(weight) + 4 * rounding(weight) +
                              rounding(weight_before + weight);
        double bias_error = e->dy + 2 * rounding(s->dy) + rounding(bias_before + s->dy);
        judge_value(&result->of[OUT_WEIGHT_GRAD], SBN_F32, i, j->out->of[OUT_WEIGHT_GRAD].data[i],
                    weight_before + weight, weight_error);
        judge_value(&result->of[OUT_BIAS_GRAD], SBN_F32, i, j->out->of[OUT_BIAS_GRAD].data[i],
                    exact ? (float)s->dy : bias_before + s->dy, exact ? 0 : bias_error);
    }
}

static void judge_all(const judge *j, comparison *result)
{
    static const output_id elements[] = {OUT_Y, OUT_EVAL, OUT_DX};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; ++i) {
        if (j->out->of[elements[i]].data) {
            result->of[elements[i]].judged = 1;
            judge_elements(j, elements[i], &result->of[elements[i]]);
        }
    }
    if (j->out->of[OUT_AGAIN].data)
        judge_again(j, &result->of[OUT_AGAIN]);
    /* A batch of no values has no statistics, only counts. */
    if (j->out->of[OUT_MEAN].data && j->g->values > 0)
        judge_statistics(j, result);
    if (j->out->of[OUT_WEIGHT_GRAD].data)
        judge_gradients(j, result);
    if (j->out->of[OUT_RUNNING_MEAN].data)
        judge_running(j, result);
    result->counts_ok = (!j->out->of[OUT_MEAN].data || j->out->count == j->g->values) &&
                        (!j->p->track || j->out->batches == j->ref->batches);
    result->ok = result->counts_ok;
    for (int id = 0; id < OUTPUTS; ++id)
        result->ok &= result->of[id].failures == 0;
}

int compare(const problem *p, const placement *g, const inputs *in, const outputs *out,
            comparison *result)
{
    reference ref;
    bounds bound;
    memset(result, 0, sizeof *result);
    int status = reference_make(p, g, in, &ref);
    if (status)
        return status;
    status = bounds_make(p, g, in, &ref, &bound);
    if (status == SBN_SUCCESS) {
        judge_all(&(judge){p, g, in, out, &ref, &bound}, result);
        bounds_free(&bound);
    }
    reference_free(&ref);
    return status;
}

void compare_where(const placement *g, output_id id, size_t index, char *text, size_t size)
{
    if (id == OUT_WEIGHT_GRAD || id == OUT_BIAS_GRAD) {
        snprintf(text, size, "replica %zu channel %zu", index / g->channels, index % g->channels);
        return;
    }
    if (id != OUT_Y && id != OUT_AGAIN && id != OUT_EVAL && id != OUT_DX) {
        snprintf(text, size, "channel %zu", index);
        return;
    }
    size_t s = g->samples - 1;
    while (g->sample[s].start > index || g->sample[s].plane == 0)
        --s;
    size_t within = index - g->sample[s].start;
    snprintf(text, size, "sample %zu (replica %zu) channel %zu position %zu", s,
             g->sample[s].replica, within / g->sample[s].plane, within % g->sample[s].plane);
}
