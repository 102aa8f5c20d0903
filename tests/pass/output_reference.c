#include "pass/output_reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const double u = 0x1p-24;

/* The rounding of a type: of a number, and of the smallest. */
static const double units[] = {[SBN_F32] = 0x1p-24, [SBN_F16] = 0x1p-11, [SBN_BF16] = 0x1p-8};
static const double tiny[] = {[SBN_F32] = 0x1p-126, [SBN_F16] = 0x1p-25, [SBN_BF16] = 0x1p-126};

enum { FROM_Y, FROM_X };

/* Of a channel: sums of the gradients of z, and with xhat, and how far the library's may be off. */
typedef struct reference {
    const case_of *c;
    const numbers *v;
    int from;
    size_t channel;
    double weight, bias, invstd, mean;
    double n, sum, product, largest;
    double off_sum, off_product;
} reference;

static size_t channel_of(const case_of *c, size_t i)
{
    return c->layout == SBN_LAYOUT_NCHW ? i / c->plane % c->channels : i % c->channels;
}

/* How far xhat may be off. */
static double error_of(const reference *r, double xhat)
{
    const double slope = r->c->activation == SBN_LEAKY_RELU ? SIDES_SLOPE : 1.0;
    const sbn_type type = r->c->type;
    const double size = fabs(xhat) + fabs(r->bias / r->weight);
    const double arithmetic = 8 * u * size + 0x1p-120 / fabs(r->weight);
    /* The mean is known as a float. */
    return r->from == FROM_Y
               ? arithmetic
               : arithmetic + units[type] * size + tiny[type] / slope / fabs(r->weight) +
                     u * fabs(r->mean) * r->invstd;
}

static double xhat_of(const reference *r, size_t i)
{
    if (r->from == FROM_X)
        return (r->v->x[i] - r->mean) * r->invstd;
    const double y = r->v->y[i];
    const double z = r->c->activation == SBN_IDENTITY || y > 0 ? y : y / (double)SIDES_SLOPE;
    return (z - r->bias) / r->weight;
}

static double gradient_of(const reference *r, size_t i)
{
    const double dy = r->v->dy[i];
    return r->c->activation == SBN_IDENTITY || r->v->y[i] > 0 ? dy : (double)SIDES_SLOPE * dy;
}

static void sum(reference *r)
{
    double all = 0;
    for (size_t i = 0; i < r->v->count; ++i) {
        if (channel_of(r->c, i) != r->channel)
            continue;
        const double g = gradient_of(r, i), xhat = xhat_of(r, i);
        ++r->n;
        r->sum += g;
        r->product += g * xhat;
        r->largest = fmax(r->largest, fabs(g));
        /* Sums are around the mean's upper float. */
        all += fabs(xhat) + u * fabs(r->mean) * r->invstd;
        r->off_product += fabs(g) * error_of(r, xhat);
    }
    /*
     * doc/order.md: 24 roundings of terms of |dy - g| and |g|, together at most thrice the largest,
     * and a unit of the format for each of two terms.
     */
    /* Devices may flush what an element differs by from its block's pivot. */
    r->off_sum = 24 * u * 3 * r->largest * r->n + FLT_MIN * r->n;
    r->off_product += 24 * u * 3 * r->largest * all + 0x1p-95 * r->n * r->invstd;
}

static reference refer(const case_of *c, const numbers *v, size_t channel, int from)
{
    reference r = {
        .c = c,
        .v = v,
        .from = from,
        .channel = channel,
        .weight = v->weight[channel],
        .bias = v->bias[channel],
        .invstd = 1 / sqrt(v->var[channel] + 1e-5),
        .mean = v->mean[channel],
    };
    sum(&r);
    return r;
}

/* dx of an element, and how far it may be off before it is stored. */
static double dx_of(const reference *r, size_t i, double *off)
{
    const double p = r->weight * r->invstd, g = gradient_of(r, i), xhat = xhat_of(r, i);
    if (r->c->frozen) {
        *off = 16 * u * fabs(p * g);
        return p * g;
    }
    const double k = r->product / r->n, m = r->sum / r->n, e = error_of(r, xhat);
    *off = fabs(p) * (16 * u * (fabs(g) + fabs(m) + fabs(xhat * k)) + r->off_sum / r->n +
                      (fabs(xhat) + e) * r->off_product / r->n + e * fabs(k));
    return p * (g - m - xhat * k);
}

static double stored(sbn_type type, double value)
{
    return storage_widen(type, storage_round(type, (float)value));
}

/* By how much storing rounds at most. */
static double half_step(sbn_type type, double value)
{
    return type == SBN_F32 ? 0x1p-126 : fmax(units[type] * fabs(value), tiny[type]);
}

static int check_dx(const reference *r, double *worst, char *why, size_t size)
{
    for (size_t i = 0; i < r->v->count; ++i) {
        if (channel_of(r->c, i) != r->channel)
            continue;
        double off;
        const double expected = dx_of(r, i, &off), got = r->v->dx[i];
        const double low = stored(r->c->type, expected - off) - 0x1p-126;
        const double high = stored(r->c->type, expected + off) + 0x1p-126;
        *worst = fmax(*worst, fabs(got - expected) / (off + half_step(r->c->type, expected)));
        if (got >= low && got <= high)
            continue;
        snprintf(why, size, "channel %zu, dx[%zu]: expected %g to %g of it, from %s, got %g",
                 r->channel, i, expected, off, r->from == FROM_Y ? "y" : "x", got);
        return 0;
    }
    return 1;
}

static int check_channel(const reference *r, double *worst, char *why, size_t size)
{
    const double bias_grad = r->v->bias_grad[r->channel];
    const double weight_grad = r->v->weight_grad[r->channel];
    if (!(fabs(bias_grad - r->sum) <= r->off_sum)) {
        snprintf(why, size, "channel %zu, bias_grad: expected %g to %g of it, got %g", r->channel,
                 r->sum, r->off_sum, bias_grad);
        return 0;
    }
    if (!(fabs(weight_grad - r->product) <= r->off_product + 2 * u * fabs(r->product))) {
        snprintf(why, size, "channel %zu, weight_grad: expected %g to %g of it, from %s, got %g",
                 r->channel, r->product, r->off_product, r->from == FROM_Y ? "y" : "x",
                 weight_grad);
        return 0;
    }
    return check_dx(r, worst, why, size);
}

/*
 * A channel with NaN or Inf in y or dy, or of infinite variance: NaN, but where constant statistics
 * keep elements apart.
 */
static int check_lost(const case_of *c, const numbers *v, size_t channel, char *why, size_t size)
{
    for (size_t i = 0; i < v->count; ++i) {
        if (channel_of(c, i) != channel || isnan(v->dx[i]) || (c->frozen && !isnan(v->ordinary[i])))
            continue;
        snprintf(why, size, "channel %zu, dx[%zu]: expected NaN, got %g", channel, i, v->dx[i]);
        return 0;
    }
    if (!isnan(v->weight_grad[channel]))
        snprintf(why, size, "channel %zu, weight_grad: expected NaN, got %g", channel,
                 v->weight_grad[channel]);
    return isnan(v->weight_grad[channel]);
}

int output_is_right(const case_of *c, const numbers *v, double *worst, char *why, size_t size)
{
    int right = 1;
    *worst = 0;
    for (size_t channel = 0; channel < c->channels && right; ++channel) {
        int finite = isfinite(v->var[channel]);
        double share;
        for (size_t i = 0; i < v->count; ++i)
            if (channel_of(c, i) == channel)
                finite = finite && isfinite(v->y[i]) && isfinite(v->dy[i]);
        if (!finite) {
            right = check_lost(c, v, channel, why, size);
            continue;
        }
        const reference of_y = refer(c, v, channel, FROM_Y), of_x = refer(c, v, channel, FROM_X);
        right = check_channel(&of_y, &share, why, size) && check_channel(&of_x, worst, why, size);
    }
    return right;
}
