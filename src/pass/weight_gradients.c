/* Writes the rows of the gradients' table from sums over the group or one replica. */
#include <math.h>
#include <string.h>

#include "pass/backward.h"
#include "pass/sums.h"

/* layer_pass->columns */
enum { DY, DY_XMU, OWN_DY, OWN_DY_XMU };

/* A row of a replica's host copy, which nothing else uses during the pass. */
float *sbn__gradient_row(const sbn_layer_pass *layer_pass, size_t replica, int which)
{
    return sbn__channel_table_rows(&layer_pass->gradients, replica) +
           (size_t)which * layer_pass->layer->channels;
}

/* A replica's weight_grad and bias_grad from columns of sums over its own shard or the group. */
static void put_gradients(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk, size_t replica,
                          const unsigned char *only, const double *dy, const double *dy_xmu)
{
    const double *invstd = layer_pass->saved->moments->invstd;
    float *weight = sbn__gradient_row(layer_pass, replica, SBN_ROW_WEIGHT_GRAD),
          *bias = sbn__gradient_row(layer_pass, replica, SBN_ROW_BIAS_GRAD);
    for (size_t c = chunk->first; c < chunk->first + chunk->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

/* Writes zeros to the rows from `row` on. */
static void clear_gradients(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk,
                            size_t replica, int row)
{
    for (; row < SBN_GRADIENT_ROWS; ++row)
        memset(sbn__gradient_row(layer_pass, replica, row) + chunk->first, 0,
               sizeof(float) * chunk->channels);
}

static void put_own_gradients(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk,
                              size_t replica, const sbn_format *format, const unsigned char *only)
{
    const size_t first = chunk->first, channels = chunk->channels;
    double *dy = layer_pass->columns[OWN_DY], *dy_xmu = layer_pass->columns[OWN_DY_XMU];
    /* Of no values the sums are 0, and so are the gradients, also where invstd is not finite. */
    if (chunk->shapes[replica].values == 0) {
        clear_gradients(layer_pass, chunk, replica, SBN_ROW_WEIGHT_GRAD);
        return;
    }
    const sbn_accumulators accumulators = sbn__sums_of_replica(chunk, replica, format);
    sbn__gradient_sums_of(&accumulators, channels, only ? only + first : NULL,
                          layer_pass->saved->moments->mean + first, dy + first, dy_xmu + first);
    put_gradients(layer_pass, chunk, replica, only, dy, dy_xmu);
}

/* What dx needs; equal for all replicas. */
static void put_means(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk, const double *dy,
                      const double *dy_xmu)
{
    const sbn_saved_moments *saved = layer_pass->saved->moments;
    const size_t first = chunk->first, end = first + chunk->channels;
    const double n = (double)layer_pass->count;
    float *high = sbn__gradient_row(layer_pass, 0, SBN_ROW_G_HIGH),
          *low = sbn__gradient_row(layer_pass, 0, SBN_ROW_G_LOW),
          *ks = sbn__gradient_row(layer_pass, 0, SBN_ROW_K);
    for (size_t c = first; c < end; ++c) {
        const sbn_double_float g = sbn__split_double(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        /* Where dy is not finite k is NaN, of which dx is NaN. */
        const int constant = sbn__is_clamped(saved->var[c], layer_pass->layer->eps);
        ks[c] = constant && isfinite(dy[c]) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < layer_pass->group->replica_count; ++r)
        for (int row = SBN_ROW_G_HIGH; row <= SBN_ROW_K; ++row)
            memcpy(sbn__gradient_row(layer_pass, r, row) + first,
                   sbn__gradient_row(layer_pass, 0, row) + first, sizeof(float) * chunk->channels);
}

int sbn__backward_finish(sbn_layer_pass *layer_pass, const sbn_chunk *chunk,
                         const sbn_accumulators *accumulators)
{
    const sbn_saved_moments *saved = layer_pass->saved->moments;
    const size_t first = chunk->first, channels = chunk->channels;
    const unsigned char *only = accumulators->format->wide ? layer_pass->repeat : NULL;
    double *dy = layer_pass->columns[DY], *dy_xmu = layer_pass->columns[DY_XMU];
    sbn__gradient_sums_of(accumulators, channels, only ? only + first : NULL, saved->mean + first,
                          dy + first, dy_xmu + first);
    if (layer_pass->group->replica_count > 0)
        put_means(layer_pass, chunk, dy, dy_xmu);
    /* A replica alone in its group has the group's sums. */
    const int all = layer_pass->flags & SBN_GLOBAL_GRADIENTS ||
                    !sbn__layer_pass_has_peers(layer_pass);
    for (size_t r = 0; r < layer_pass->group->replica_count; ++r)
        if (all)
            put_gradients(layer_pass, chunk, r, only, dy, dy_xmu);
        else
            put_own_gradients(layer_pass, chunk, r, accumulators->format, only);
    return !only && sbn__backward_needs_wide(accumulators, channels, saved->invstd + first,
                                             layer_pass->repeat + first);
}

/* Gradients of an empty batch are zeros; otherwise sbn__backward_finish has filled the rows. */
void sbn__backward_write_coefficients(sbn_layer_pass *layer_pass, const sbn_chunk *chunk)
{
    for (size_t r = 0; layer_pass->count == 0 && r < layer_pass->group->replica_count; ++r)
        clear_gradients(layer_pass, chunk, r, 0);
}
