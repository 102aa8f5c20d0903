/* The reduction's stated bound; derived in bounds.h. */
#include "check/bounds.h"

#include <float.h>
#include <math.h>

#include "check/elements.h"

/* The rounding of a type: of a number, and of the smallest. */
static const double units[SBN_TYPES] = {
    [SBN_F32] = 0x1p-24,
    [SBN_F16] = 0x1p-11,
    [SBN_BF16] = 0x1p-8,
};
static const double tiny[SBN_TYPES] = {
    [SBN_F32] = 0x1p-126,
    [SBN_F16] = 0x1p-25,
    [SBN_BF16] = 0x1p-126,
};

double recovery_error(const problem *p, const inputs *in, const reference_channel *ch, size_t c,
                      double x)
{
    if (!p->from_output || ch->invstd == 0)
        return 0;
    const double weight = p->affine ? fabs((double)in->weight[c]) : 1;
    const double bias = p->affine ? fabs((double)in->bias[c]) : 0;
    const double slope = p->activation == SBN_LEAKY_RELU ? fmin(fabs((float)p->slope), 1) : 1;
    const double size = fabs(x - ch->mean) * ch->invstd + bias / weight;
    /* Of the type, and of the arithmetic, which is that of floats. */
    const double stored = units[p->type] * size + tiny[p->type] / (slope * weight);
    return (stored + 8 * BOUND_UNIT * size + 0x1p-120 / weight) / ch->invstd;
}

/*
 * A block of one tensor. Its pivot is the mean of the first elements in the narrow format, of all
 * in the wide one and where the block is summed again; which was taken is not known here, so both
 * are bounded, unless the first pivot is poor beyond doubt.
 */
typedef struct block {
    const float *at;
    size_t n;
    double k, pivot[2], pivot_error;
} block;

static block block_of(const float *plane, size_t from, size_t plane_size)
{
    size_t left = plane_size - from;
    block b = {.at = plane + from, .n = left < SBN_BLOCK ? left : SBN_BLOCK};
    double total = 0, size = 0;
    b.k = (double)((b.n + SBN_LANES - 1) / SBN_LANES) + SBN_LOG2_LANES + 2;
    for (size_t i = 0; i < b.n; ++i) {
        total += b.at[i];
        size += fabs(b.at[i]);
        if (i + 1 == SBN_LANES || i + 1 == b.n) {
            b.pivot[i + 1 > SBN_LANES] = total / (double)(i + 1);
            b.pivot_error = fmax(b.pivot_error, b.k * BOUND_UNIT * size / (double)(i + 1));
        }
    }
    if (b.n <= SBN_LANES)
        b.pivot[1] = b.pivot[0];
    return b;
}

/* What the roundings before it may add to either side of the test for a poor pivot. */
#define DOUBT (1 + 0x1p-10)

/*
 * Moves the pivot of a block that is summed again, whatever the roundings, to its mean alone. Its
 * sum around the first pivot tells and, forward, the squares, backward, the largest distance.
 */
static void move_pivot(block *b, int forward)
{
    double sum = 0, squares = 0, largest = 0, sizes = 0, n = (double)b->n;
    for (size_t i = 0; i < b->n; ++i) {
        double d = b->at[i] - b->pivot[0], size = fabs(d) + b->pivot_error;
        sum += d;
        squares += size * size;
        sizes += size;
        largest = fmax(largest, size);
    }
    sum = fabs(sum) - n * b->pivot_error;
    const int is_poor = forward ? sum > BOUND_SURE_SUM &&
                                      sum * sum > DOUBT * BOUND_POOR_SQUARES * n * squares
                                : sum > DOUBT * BOUND_POOR_LARGEST * n * largest;
    if (is_poor) {
        b->pivot_error = b->k * BOUND_UNIT * sizes / n + BOUND_UNIT * fabs(b->pivot[1]);
        b->pivot[0] = b->pivot[1];
    }
}

/* Largest |value - pivot|. */
static double distance(const block *b, double value)
{
    return fmax(fabs(value - b->pivot[0]), fabs(value - b->pivot[1])) + b->pivot_error;
}

static void forward_bounds(const problem *p, const placement *g, const float *x, size_t c,
                           reference_channel *ch)
{
    channel_bounds *bound = &ch->bound;
    double sum = 0, squares = 0, n = (double)g->values;
    for (size_t s = 0; s < g->samples; ++s) {
        const float *plane = x + placement_plane_start(g, s, c);
        for (size_t from = 0; from < g->sample[s].plane; from += SBN_BLOCK) {
            block b = block_of(plane, from, g->sample[s].plane);
            move_pivot(&b, 1);
            double first = 0, second = 0;
            for (size_t i = 0; i < b.n; ++i) {
                double d = distance(&b, b.at[i]);
                first += d;
                second += d * d;
            }
            first *= b.k * BOUND_UNIT;
            sum += first;
            squares += (b.k + 2) * BOUND_UNIT * second + 2 * distance(&b, ch->mean) * first;
        }
    }
    bound->mean = sum / n + BOUND_CUT_MEAN + BOUND_TWO_FLOATS * fabs(ch->mean);
    bound->var = (squares + sum * sum / n) / n + BOUND_CUT_VAR + BOUND_UNDERFLOW;
    if (ch->invstd == 0)
        return; /* the variance overflowed: 0 whatever its error */
    double low = reference_invstd(p, fmax(ch->var - bound->var, 0));
    double high = reference_invstd(p, ch->var + bound->var);
    bound->invstd = fmax(low / ch->invstd - 1, 1 - high / ch->invstd);
    bound->may_clamp = p->eps_mode == SBN_EPS_CLAMP && ch->var - bound->var <= p->eps &&
                       p->eps <= ch->var + bound->var;
}

/* Bounds of one plane's part of the gradients' sums. */
static void gradient_bounds(const float *x, const float *dy, size_t plane,
                            const reference_channel *ch, gradient_sums *sums)
{
    double off = BOUND_UNIT * fabs(ch->mean) + ch->bound.mean;
    for (size_t from = 0; from < plane; from += SBN_BLOCK) {
        block b = block_of(dy, from, plane);
        move_pivot(&b, 0);
        double g = distance(&b, 0), e_sum = 0, ed_sum = 0, d_sum = 0;
        for (size_t i = 0; i < b.n; ++i) {
            double e = distance(&b, b.at[i]), d = fabs(x[from + i] - ch->mean) + off;
            e_sum += e;
            ed_sum += e * d;
            d_sum += d;
        }
        double dy_error = b.k * BOUND_UNIT * e_sum + (double)b.n * BOUND_CUT_GRADIENT;
        sums->dy += dy_error;
        sums->may_be_nan |= fmax(fmax(e_sum, d_sum), fmax(ed_sum, g * d_sum)) > FLT_MAX;
        sums->dy_centered += (b.k + 2) * BOUND_UNIT * (ed_sum + g * d_sum) +
                             BOUND_UNIT * fabs(ch->mean) * dy_error +
                             (double)b.n * (BOUND_CUT_GRADIENT + BOUND_UNDERFLOW);
    }
}

static void backward_bounds(const problem *p, const placement *g, const inputs *in, size_t c,
                            reference *ref)
{
    reference_channel *ch = &ref->channel[c];
    channel_bounds *bound = &ch->bound;
    for (size_t s = 0; s < g->samples; ++s) {
        size_t start = placement_plane_start(g, s, c);
        gradient_sums *local = &ref->local_bound[c * g->replicas + g->sample[s].replica];
        gradient_bounds(in->x + start, in->dy + start, g->sample[s].plane, ch, local);
        for (size_t i = start; i < start + g->sample[s].plane && p->from_output; ++i)
            local->dy_centered += fabs(in->dy[i]) * recovery_error(p, in, ch, c, in->x[i]);
    }
    for (size_t r = 0; r < g->replicas; ++r) {
        gradient_sums *local = &ref->local_bound[c * g->replicas + r];
        bound->all.dy += local->dy;
        bound->all.dy_centered += local->dy_centered;
        bound->all.may_be_nan |= local->may_be_nan;
        local->dy_centered += bound->mean * fabs(ref->local[c * g->replicas + r].dy);
    }
    bound->all.dy_centered += bound->mean * fabs(ch->all.dy);
}

/* Sums of exact data are not rounded anywhere. */
static void forget_exact(const problem *p, const placement *g, size_t c, reference *ref)
{
    channel_bounds *bound = &ref->channel[c].bound;
    gradient_sums *local = &ref->local_bound[c * g->replicas];
    /* An activation lets only a part of dy through. */
    int exact_x = p->data == DATA_EXACT;
    int exact_dy = p->grad == DATA_EXACT && p->activation == SBN_IDENTITY;
    if (exact_x)
        bound->mean = bound->var = bound->invstd = 0;
    for (size_t r = 0; r <= g->replicas && exact_dy; ++r) {
        gradient_sums *sums = r < g->replicas ? &local[r] : &bound->all;
        sums->dy = 0;
        sums->dy_centered = exact_x && !p->from_output ? 0 : sums->dy_centered;
    }
}

void bounds_make(const problem *p, const placement *g, const inputs *in, reference *ref)
{
    for (size_t c = 0; c < g->channels && g->values > 0; ++c) {
        if (!p->frozen)
            forward_bounds(p, g, in->x, c, &ref->channel[c]);
        backward_bounds(p, g, in, c, ref);
        forget_exact(p, g, c, ref);
    }
}
