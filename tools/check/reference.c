#include "check/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neumaier's compensated sum: the rounding of each addition is kept and added at the end. */
typedef struct sum {
    double total, lost;
} sum;

static void add(sum *s, double term)
{
    double total = s->total + term;
    s->lost += fabs(s->total) >= fabs(term) ? s->total - total + term : term - total + s->total;
    s->total = total;
}

static double value(const sum *s)
{
    /* Beside an infinity nothing is lost, and the compensation is NaN. */
    return isfinite(s->lost) ? s->total + s->lost : s->total;
}

double reference_invstd(const problem *p, double var)
{
    /* A variance beyond float is +Inf to the library, which normalises by 0. */
    if (var > FLT_MAX)
        return 0;
    return 1 / sqrt(p->eps_mode == SBN_EPS_CLAMP ? fmax(var, p->eps) : var + p->eps);
}

static void statistics(const problem *p, const placement *g, const float *x, size_t c,
                       reference_channel *ch)
{
    sum first = {0, 0}, second = {0, 0};
    for (size_t s = 0; s < g->samples; ++s) {
        const float *plane = x + placement_plane_start(g, s, c);
        for (size_t i = 0; i < g->sample[s].plane; ++i)
            add(&first, plane[i]);
    }
    if (g->values == 0)
        return; /* no statistics; the sums of none are 0 */
    ch->mean = value(&first) / (double)g->values;
    for (size_t s = 0; s < g->samples; ++s) {
        const float *plane = x + placement_plane_start(g, s, c);
        for (size_t i = 0; i < g->sample[s].plane; ++i) {
            double d = plane[i] - ch->mean;
            add(&second, d * d);
        }
    }
    ch->var = value(&second) / (double)g->values;
    if (ch->var > FLT_MAX)
        ch->var = INFINITY;
    /* Of a NaN or an infinity in x the variance is NaN, which fmax would drop for eps. */
    ch->invstd = isnan(ch->var) ? NAN : reference_invstd(p, ch->var);
    ch->clamped = p->eps_mode == SBN_EPS_CLAMP && ch->var < p->eps;
}

/* Of a frozen layer. */
static void constants(const problem *p, const inputs *in, size_t c, reference_channel *ch)
{
    ch->mean = in->running_mean[c];
    ch->var = in->running_var[c];
    ch->invstd = reference_invstd(p, ch->var);
    ch->clamped = 1;
}

/* The weight of this batch in the running statistics; -1: they stay as they are. */
static double factor_of(const problem *p, const placement *g, const inputs *in)
{
    if (p->frozen || !(p->passes & PASS_FORWARD) || p->forward_flags & SBN_KEEP_RUNNING_STATS ||
        g->values == 0)
        return -1;
    return p->average == SBN_AVERAGE_CUMULATIVE ? 1.0 / (double)(in->batches + 1) : p->momentum;
}

static void running(const inputs *in, size_t c, const reference *ref, reference_channel *ch)
{
    ch->running_mean = in->running_mean[c];
    ch->running_var = in->running_var[c];
    /* A batch of weight 0 counts where it is NaN or Inf. */
    if (ref->factor >= 0) {
        double unbiased = ch->var * ref->count / (ref->count - 1);
        ch->running_mean = (1 - ref->factor) * ch->running_mean + ref->factor * ch->mean;
        ch->running_var = (1 - ref->factor) * ch->running_var + ref->factor * unbiased;
    }
}

/* Sums over each replica, and over all; sums that a NaN or an infinity enters are left to IEEE. */
static void gradients(const problem *p, const placement *g, const inputs *in, size_t c,
                      reference_channel *ch, gradient_sums *local, sum *scratch)
{
    sum all_dy = {0, 0}, all_centered = {0, 0};
    memset(scratch, 0, 2 * g->replicas * sizeof *scratch);
    for (size_t s = 0; s < g->samples; ++s) {
        size_t start = placement_plane_start(g, s, c);
        sum *mine = scratch + 2 * g->sample[s].replica;
        for (size_t i = start; i < start + g->sample[s].plane; ++i) {
            double dy = in->dy[i], centered = dy * (in->x[i] - ch->mean);
            add(&mine[0], dy);
            add(&mine[1], centered);
            add(&all_dy, dy);
            add(&all_centered, centered);
        }
    }
    for (size_t r = 0; r < g->replicas; ++r) {
        local[r].dy = value(&scratch[2 * r]);
        local[r].dy_centered = value(&scratch[2 * r + 1]);
    }
    ch->all.dy = value(&all_dy);
    ch->all.dy_centered = value(&all_centered);
    /* Where the variance is infinite y is the bias, which does not give x back. */
    const int is_lost = p->from_output && ch->invstd == 0 && g->values > 0;
    ch->all.dy_centered = is_lost ? NAN : ch->all.dy_centered;
    for (size_t r = 0; is_lost && r < g->replicas; ++r)
        local[r].dy_centered = NAN;
}

int reference_make(const problem *p, const placement *g, const inputs *in, reference *ref)
{
    ref->count = (double)g->values;
    ref->frozen = p->frozen;
    ref->factor = factor_of(p, g, in);
    ref->channel = calloc(g->channels, sizeof *ref->channel);
    ref->local = calloc(2 * g->channels * g->replicas, sizeof *ref->local);
    sum *scratch = calloc(2 * g->replicas, sizeof *scratch);
    if (!ref->channel || !ref->local || !scratch) {
        free(scratch);
        reference_free(ref);
        return SBN_OUT_OF_MEMORY;
    }
    ref->local_bound = ref->local + g->channels * g->replicas;
    for (size_t c = 0; c < g->channels; ++c) {
        if (p->frozen)
            constants(p, in, c, &ref->channel[c]);
        else
            statistics(p, g, in->x, c, &ref->channel[c]);
        running(in, c, ref, &ref->channel[c]);
        gradients(p, g, in, c, &ref->channel[c], ref->local + c * g->replicas, scratch);
    }
    free(scratch);
    ref->batches = in->batches + (ref->factor >= 0);
    return SBN_SUCCESS;
}

void reference_free(reference *ref)
{
    free(ref->channel);
    free(ref->local);
    memset(ref, 0, sizeof *ref);
}

double reference_y(const reference_channel *ch, double weight, double bias, double x)
{
    return weight * (x - ch->mean) * ch->invstd + bias;
}

double reference_dx(const reference *ref, const reference_channel *ch, double weight, double x,
                    double dy)
{
    if (ref->frozen)
        return weight * ch->invstd * dy;
    double xhat = (x - ch->mean) * ch->invstd;
    double through_var = ch->clamped ? 0 : xhat * ch->invstd * ch->all.dy_centered / ref->count;
    return weight * ch->invstd * (dy - ch->all.dy / ref->count - through_var);
}
