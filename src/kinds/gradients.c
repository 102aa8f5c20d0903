#include "kinds/gradients.h"

#include <string.h>

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
static void put_gradients(const sbn_layer_pass *layer_pass, size_t replica,
                          const unsigned char *only, const double *dy, const double *dy_xmu)
{
    const double *invstd = layer_pass->saved->moments->invstd;
    float *weight = sbn__gradient_row(layer_pass, replica, SBN_ROW_WEIGHT_GRAD),
          *bias = sbn__gradient_row(layer_pass, replica, SBN_ROW_BIAS_GRAD);
    for (size_t c = 0; c < layer_pass->layer->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

static void put_own_gradients(const sbn_layer_pass *layer_pass, size_t replica,
                              const sbn_format *format, const unsigned char *only)
{
    const size_t channels = layer_pass->layer->channels;
    double *dy = layer_pass->columns[OWN_DY], *dy_xmu = layer_pass->columns[OWN_DY_XMU];
    if (layer_pass->shapes[replica].values > 0) {
        const sbn_accumulators accumulators = sbn__sums_of_replica(layer_pass, replica, format);
        sbn__gradient_sums_of(&accumulators, channels, only, layer_pass->saved->moments->mean, dy,
                              dy_xmu);
    } else {
        memset(dy, 0, sizeof(double) * channels);
        memset(dy_xmu, 0, sizeof(double) * channels);
    }
    put_gradients(layer_pass, replica, only, dy, dy_xmu);
}

/* What dx needs; equal for all replicas. */
static void put_means(const sbn_layer_pass *layer_pass, const double *dy, const double *dy_xmu)
{
    const sbn_saved_moments *saved = layer_pass->saved->moments;
    const size_t channels = layer_pass->layer->channels;
    const double n = (double)layer_pass->count;
    float *high = sbn__gradient_row(layer_pass, 0, SBN_ROW_G_HIGH),
          *low = sbn__gradient_row(layer_pass, 0, SBN_ROW_G_LOW),
          *ks = sbn__gradient_row(layer_pass, 0, SBN_ROW_K);
    for (size_t c = 0; c < channels; ++c) {
        const sbn_double_float g = sbn__split_double(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        ks[c] = sbn__is_clamped(saved->var[c], layer_pass->layer->eps) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < layer_pass->group->replica_count; ++r)
        for (int row = SBN_ROW_G_HIGH; row <= SBN_ROW_K; ++row)
            memcpy(sbn__gradient_row(layer_pass, r, row), sbn__gradient_row(layer_pass, 0, row),
                   sizeof(float) * channels);
}

int sbn__backward_finish(sbn_layer_pass *layer_pass, const sbn_accumulators *accumulators)
{
    const sbn_saved_moments *saved = layer_pass->saved->moments;
    const size_t channels = layer_pass->layer->channels;
    const unsigned char *only = accumulators->format->wide ? layer_pass->repeat : NULL;
    double *dy = layer_pass->columns[DY], *dy_xmu = layer_pass->columns[DY_XMU];
    sbn__gradient_sums_of(accumulators, channels, only, saved->mean, dy, dy_xmu);
    if (layer_pass->group->replica_count > 0)
        put_means(layer_pass, dy, dy_xmu);
    /* A replica alone in its group has the group's sums. */
    const int all = layer_pass->flags & SBN_GLOBAL_GRADIENTS ||
                    !sbn__layer_pass_has_peers(layer_pass);
    for (size_t r = 0; r < layer_pass->group->replica_count; ++r)
        if (all)
            put_gradients(layer_pass, r, only, dy, dy_xmu);
        else
            put_own_gradients(layer_pass, r, accumulators->format, only);
    return !only &&
           sbn__backward_needs_wide(accumulators, channels, saved->invstd, layer_pass->repeat);
}

/* Gradients of an empty batch are zeros; otherwise sbn__backward_finish has filled the rows. */
void sbn__backward_write_coefficients(sbn_layer_pass *layer_pass)
{
    for (size_t r = 0; layer_pass->count == 0 && r < layer_pass->group->replica_count; ++r)
        for (int row = 0; row < SBN_GRADIENT_ROWS; ++row)
            memset(sbn__gradient_row(layer_pass, r, row), 0,
                   sizeof(float) * layer_pass->layer->channels);
}
