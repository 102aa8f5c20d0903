/* Judging outputs; tolerances are derived in compare.h. */
#include "check/compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bounds.h"
#include "check/elements.h"
#include "check/fusion.h"

static const double u = BOUND_UNIT;

/* --- a value -------------------------------------------------------------------------------- */

/*
 * y's error that the apply step alone may cause: roundings, and what float's underflow may cost.
 * `centered` is x - mean, a = weight invstd.
 */
static double tolerance_apply(double a, double centered, double bias)
{
    return 4 * u * (fabs(a * centered) + fabs(bias)) + BOUND_UNDERFLOW * (1 + fabs(centered));
}

static double tolerance_y(const reference_channel *ch, double weight, double bias, double x)
{
    const channel_bounds *b = &ch->bound;
    double a = weight * ch->invstd, centered = x - ch->mean;
    return tolerance_apply(a, centered, bias) +
           fabs(a) * (b->mean * (1 + b->invstd) + fabs(centered) * b->invstd);
}

static double tolerance_dx(const reference *ref, const reference_channel *ch, double weight,
                           double x, double dy)
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

/* What dx is off besides where x - mean, which backward finds in y, is off by `recovery`. */
static double tolerance_recovered(const reference *ref, const reference_channel *ch, double weight,
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
    return got >= stored(type, expected - tolerance) && got <= stored(type, expected + tolerance);
}

/* A result that may be so far from what is expected. */
static void verdict_value(verdict *v, sbn_type type, size_t index, float got, double expected,
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

/* A result of which every bit is known. */
static void verdict_bits(verdict *v, size_t index, float got, float expected)
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

/* --- all outputs ---------------------------------------------------------------------------- */

/* Everything that a judgement looks at. */
typedef struct judge {
    const problem *p;
    const placement *g;
    const inputs *in; /* dy behind the activation */
    const outputs *out;
    const reference *ref;
} judge;

/*
 * 1 if this dx may be NaN or Inf, as pass.h says: where a sum, a factor or the last term overflows a
 * float. `recovery` is recovery_error's.
 */
static int is_lost_dx(const judge *j, const reference_channel *ch, double weight, double x,
                      double recovery, float got)
{
    const channel_bounds *b = &ch->bound;
    const double grow = 1 + b->invstd, p = fabs(weight) * ch->invstd * grow, n = j->ref->count;
    const double sum = fabs(ch->all.dy_centered) + b->all.dy_centered;
    const double k = ch->invstd * ch->invstd * grow * grow * sum / n, q = p * k;
    const double term = q * (fabs(x - ch->mean) + b->mean + recovery) +
                        u * (p * fabs(ch->all.dy / n) + q * fabs(ch->mean));
    if (isfinite(got) || (ch->clamped && !b->may_clamp))
        return 0;
    return (isnan(got) && b->all.may_be_nan) ||
           fmax(fmax(k, term), j->p->from_output ? 0 : q) * (1 + 8 * u) > FLT_MAX;
}

/* y, dx and their like: every element of the batch. */
static void judge_elements(const judge *j, output_id id, verdict *v)
{
    const float *data = j->out->of[id].data;
    const sbn_type type = j->p->type;
    const int batch_statistics = id != OUT_EVAL || !j->p->track;
    for (size_t s = 0; s < j->g->samples; ++s) {
        for (size_t c = 0; c < j->g->channels; ++c) {
            const reference_channel *ch = &j->ref->channel[c];
            double weight = j->p->affine ? j->in->weight[c] : 1;
            double bias = j->p->affine ? j->in->bias[c] : 0;
            reference_channel by = *ch;
            if (!batch_statistics) {
                by = (reference_channel){.mean = j->out->of[OUT_RUNNING_MEAN].data[c]};
                by.invstd = reference_invstd(j->p, j->out->of[OUT_RUNNING_VAR].data[c]);
            }
            size_t start = placement_plane_start(j->g, s, c);
            for (size_t i = start; i < start + j->g->sample[s].plane; ++i) {
                double x = j->in->x[i];
                if (id == OUT_DX) {
                    double dy = j->in->dy[i];
                    const double recovery = recovery_error(j->p, j->in, ch, c, x);
                    verdict_value(v, type, i, data[i],
                                  is_lost_dx(j, ch, weight, x, recovery, data[i])
                                      ? data[i]
                                      : reference_dx(j->ref, ch, weight, x, dy),
                                  tolerance_dx(j->ref, ch, weight, x, dy) +
                                      tolerance_recovered(j->ref, ch, weight, recovery));
                } else {
                    const double z = reference_y(&by, weight, bias, x) +
                                     (j->p->residual ? j->in->residual[i] : 0);
                    const double off = batch_statistics
                                           ? tolerance_y(ch, weight, bias, x)
                                           : tolerance_apply(weight * by.invstd, x - by.mean, bias);
                    verdict_value(v, type, i, data[i], fusion_activation(j->p, z),
                                  fusion_tolerance(j->p, z, off));
                }
            }
        }
    }
}

/* A recomputed y has y's bits. */
static void judge_again(const judge *j, verdict *v)
{
    const output *y = &j->out->of[OUT_Y], *again = &j->out->of[OUT_AGAIN];
    for (size_t i = 0; i < y->count; ++i)
        verdict_bits(v, i, again->data[i], y->data[i]);
}

/* An element that has these bits where the batch norm is alone. */
static float behind(const judge *j, output_id id, size_t i, float alone)
{
    switch (id) {
    case OUT_Y:
    case OUT_AGAIN:
    case OUT_EVAL:
        if (j->p->residual)
            alone += j->in->residual[i];
        return element_round(j->p->type, fusion_result(j->p, alone));
    case OUT_DX: return element_round(j->p->type, alone);
    case OUT_RESIDUAL_GRAD: return element_round(j->p->type, alone + 0.0f);
    default: return alone;
    }
}

/* Storage and what follows the batch norm have the bits of passes of their own. */
static void judge_apart(const judge *j, comparison *result)
{
    for (int id = 0; id < OUTPUTS; ++id) {
        const float *got = j->out->of[id].data;
        const float *alone = id == OUT_RESIDUAL_GRAD ? j->in->dy : j->out->apart->of[id].data;
        for (size_t i = 0; got && alone && i < j->out->of[id].count; ++i)
            verdict_bits(&result->of[id], i, got[i], behind(j, (output_id)id, i, alone[i]));
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
        const channel_bounds *b = &ch->bound;
        double mean = exact ? (float)ch->mean : ch->mean;
        double var = exact ? (float)ch->var : ch->var;
        verdict_value(&result->of[OUT_MEAN], SBN_F32, c, j->out->of[OUT_MEAN].data[c], mean,
                      exact ? 0 : b->mean + rounding(mean));
        verdict_value(&result->of[OUT_VAR], SBN_F32, c, j->out->of[OUT_VAR].data[c], var,
                      exact ? 0 : b->var + rounding(var));
    }
}

/* running += factor (batch - running): the batch's own error, and few roundings. */
static void judge_running(const judge *j, comparison *result)
{
    double n = j->ref->count, factor = j->ref->factor;
    for (size_t c = 0; c < j->g->channels; ++c) {
        const reference_channel *ch = &j->ref->channel[c];
        const channel_bounds *b = &ch->bound;
        double mean = 0, var = 0;
        if (factor > 0) {
            double unbiased = n / (n - 1);
            mean = factor * (b->mean + 4 * u * fabs(ch->mean)) + 4 * rounding(ch->running_mean) +
                   4 * u * fabs((1 - factor) * j->in->running_mean[c]);
            var = factor * unbiased * (b->var + 4 * u * ch->var) + 4 * rounding(ch->running_var);
        }
        verdict_value(&result->of[OUT_RUNNING_MEAN], SBN_F32, c,
                      j->out->of[OUT_RUNNING_MEAN].data[c], ch->running_mean, mean);
        verdict_value(&result->of[OUT_RUNNING_VAR], SBN_F32, c, j->out->of[OUT_RUNNING_VAR].data[c],
                      ch->running_var, var);
    }
}

static void judge_gradients(const judge *j, comparison *result)
{
    int global = (j->p->backward_flags & SBN_GLOBAL_GRADIENTS) != 0;
    int add = (j->p->backward_flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    int exact = j->p->grad == DATA_EXACT && j->p->activation == SBN_IDENTITY && !add;
    for (size_t i = 0; i < j->g->replicas * j->g->channels; ++i) {
        size_t c = i % j->g->channels, r = i / j->g->channels;
        const reference_channel *ch = &j->ref->channel[c];
        const channel_bounds *b = &ch->bound;
        const gradient_sums *s = global ? &ch->all : &j->ref->local[c * j->g->replicas + r];
        const gradient_sums *e = global ? &b->all : &j->ref->local_bound[c * j->g->replicas + r];
        double weight_before = add ? j->in->weight_before[c] : 0;
        double bias_before = add ? j->in->bias_before[c] : 0;
        /* Of no values the gradients are 0, also where invstd is not finite. */
        int none = !global && placement_shard_elements(j->g, r) == 0;
        const float got = j->out->of[OUT_WEIGHT_GRAD].data[i];
        double weight = none ? 0 : e->may_be_nan && isnan(got) ? NAN : ch->invstd * s->dy_centered;
        double weight_error = rounding(weight_before + weight);
        if (!none)
            weight_error += ch->invstd * (1 + b->invstd) * e->dy_centered +
                            b->invstd * fabs(weight) + 4 * rounding(weight);
        double bias_error = e->dy + 2 * rounding(s->dy) + rounding(bias_before + s->dy);
        verdict_value(&result->of[OUT_WEIGHT_GRAD], SBN_F32, i, got, weight_before + weight,
                      weight_error);
        verdict_value(&result->of[OUT_BIAS_GRAD], SBN_F32, i, j->out->of[OUT_BIAS_GRAD].data[i],
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
    if (j->out->apart)
        judge_apart(j, result);
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
    inputs behind = *in;
    reference ref;
    memset(result, 0, sizeof *result);
    int status = fusion_behind(p, g, in->dy, out->preactivation, &behind.dy);
    status = status ? status : reference_make(p, g, &behind, &ref);
    if (!status) {
        bounds_make(p, g, &behind, &ref);
        judge_all(&(judge){p, g, &behind, out, &ref}, result);
        reference_free(&ref);
    }
    free(behind.dy);
    return status;
}

void compare_where(const placement *g, output_id id, size_t index, char *text, size_t size)
{
    if (id == OUT_WEIGHT_GRAD || id == OUT_BIAS_GRAD) {
        snprintf(text, size, "replica %zu channel %zu", index / g->channels, index % g->channels);
        return;
    }
    if (id < OUT_Y || id > OUT_RESIDUAL_GRAD) {
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

void compare_explain(const placement *g, const outputs *out, const comparison *judged, output_id id,
                     char *text, size_t size)
{
    char where[128];
    const verdict *v = &judged->of[id];
    compare_where(g, id, v->index, where, sizeof where);
    snprintf(text, size,
             "%s: %zu of %zu values beyond tolerance; worst at %s: got %.9g, expected %.9g, "
             "error %.3g, tolerance %.3g",
             output_names[id], v->failures, out->of[id].count, where, v->got, v->expected, v->error,
             v->tolerance);
}
