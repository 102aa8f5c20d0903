#include "kinds/gradients.h"

#include <math.h>
#include <string.h>

#include "pass/sums.h"

/* lp->columns */
enum { DY, DY_XMU, OWN_DY, OWN_DY_XMU };

/* A row of a replica's host copy, which nothing else uses during the pass. */
static float *gradient_row(const sbn_layer_pass *lp, size_t replica, int which)
{
    return sbn__channel_table_rows(&lp->gradients, replica) + (size_t)which * lp->layer->channels;
}

/* A replica's weight_grad and bias_grad from columns of sums over its own shard or the group. */
static void put_gradients(const sbn_layer_pass *lp, size_t replica, const unsigned char *only,
                          const double *dy, const double *dy_xmu)
{
    const double *invstd = lp->saved->moments->invstd;
    float *weight = gradient_row(lp, replica, SBN_ROW_WEIGHT_GRAD),
          *bias = gradient_row(lp, replica, SBN_ROW_BIAS_GRAD);
    for (size_t c = 0; c < lp->layer->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

/* dx of no values needs none of the other rows. */
static void clear_gradients(const sbn_layer_pass *lp, size_t replica)
{
    memset(gradient_row(lp, replica, SBN_ROW_WEIGHT_GRAD), 0, sizeof(float) * lp->layer->channels);
    memset(gradient_row(lp, replica, SBN_ROW_BIAS_GRAD), 0, sizeof(float) * lp->layer->channels);
}

static void put_own_gradients(const sbn_layer_pass *lp, size_t replica, const sbn_format *format,
                              const unsigned char *only)
{
    double *dy = lp->columns[OWN_DY], *dy_xmu = lp->columns[OWN_DY_XMU];
    /* Of no values the sums are 0, and so are the gradients, also where invstd is not finite. */
    if (lp->shapes[replica].values == 0) {
        clear_gradients(lp, replica);
        return;
    }
    const sbn_accumulators accumulators = sbn__sums_of_replica(lp, replica, format);
    sbn__gradient_sums_of(&accumulators, lp->layer->channels, only, lp->saved->moments->mean, dy,
                          dy_xmu);
    put_gradients(lp, replica, only, dy, dy_xmu);
}

/* Writes what dx needs, which is equal for all replicas. */
static void put_means(const sbn_layer_pass *lp, const double *dy, const double *dy_xmu)
{
    const sbn_saved_moments *saved = lp->saved->moments;
    const size_t channels = lp->layer->channels;
    const double n = (double)lp->count;
    float *high = gradient_row(lp, 0, SBN_ROW_G_HIGH), *low = gradient_row(lp, 0, SBN_ROW_G_LOW),
          *ks = gradient_row(lp, 0, SBN_ROW_K);
    for (size_t c = 0; c < channels; ++c) {
        const sbn_double_float g = sbn__split_double(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        /* Where dy is not finite k is NaN, of which dx is NaN. */
        const int constant = sbn__is_clamped(saved->var[c], lp->layer->eps);
        ks[c] = constant && isfinite(dy[c]) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < lp->group->replica_count; ++r)
        for (int row = SBN_ROW_G_HIGH; row <= SBN_ROW_K; ++row)
            memcpy(gradient_row(lp, r, row), gradient_row(lp, 0, row), sizeof(float) * channels);
}

void sbn__backward_finish(sbn_layer_pass *lp, const sbn_accumulators *accumulators)
{
    const sbn_saved_moments *saved = lp->saved->moments;
    const size_t channels = lp->layer->channels;
    const unsigned char *only = accumulators->format == &sbn_wide ? lp->wide : NULL;
    double *dy = lp->columns[DY], *dy_xmu = lp->columns[DY_XMU];
    sbn__gradient_sums_of(accumulators, channels, only, saved->mean, dy, dy_xmu);
    if (lp->group->replica_count > 0)
        put_means(lp, dy, dy_xmu);
    /* A replica alone in its group has the group's sums. */
    const int all = lp->flags & SBN_GLOBAL_GRADIENTS || !sbn__layer_pass_has_peers(lp);
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        if (all)
            put_gradients(lp, r, only, dy, dy_xmu);
        else
            put_own_gradients(lp, r, accumulators->format, only);
}

/* Gradients of an empty batch are zeros; otherwise sbn__backward_finish has filled the rows. */
void sbn__backward_commit(sbn_layer_pass *lp)
{
    for (size_t r = 0; lp->count == 0 && r < lp->group->replica_count; ++r)
        clear_gradients(lp, r);
}
