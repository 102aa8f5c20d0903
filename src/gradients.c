/* From sums over the group, or a replica's own, to the rows of the gradients' table. */
#include <string.h>

#include "backward.h"
#include "reduce.h"

/* part->columns */
enum { DY, DY_XMU, OWN_DY, OWN_DY_XMU };

/* The host copy of a replica: free since the pass began. */
float *sbn_gradient_row(const sbn_part *part, size_t replica, int which)
{
    return sbn_table_rows(&part->gradients, replica) + (size_t)which * part->layer->channels;
}

/* A replica's weight_grad and bias_grad from columns of sums over its own share or the group. */
static void put_gradients(const sbn_part *part, const sbn_piece *piece, size_t replica,
                          const unsigned char *only, const double *dy, const double *dy_xmu)
{
    const double *invstd = part->saved->invstd;
    float *weight = sbn_gradient_row(part, replica, SBN_ROW_WEIGHT),
          *bias = sbn_gradient_row(part, replica, SBN_ROW_BIAS);
    for (size_t c = piece->first; c < piece->first + piece->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

static void put_own_gradients(const sbn_part *part, const sbn_piece *piece, size_t replica,
                              const sbn_window *window, const unsigned char *only)
{
    const size_t first = piece->first, channels = piece->channels;
    double *dy = part->columns[OWN_DY], *dy_xmu = part->columns[OWN_DY_XMU];
    if (piece->geometries[replica].values > 0) {
        const sbn_words words = sbn_reduce_words(piece, replica, window);
        sbn_products_of(&words, channels, only ? only + first : NULL, part->saved->mean + first,
                        dy + first, dy_xmu + first);
    } else {
        memset(dy + first, 0, sizeof(double) * channels);
        memset(dy_xmu + first, 0, sizeof(double) * channels);
    }
    put_gradients(part, piece, replica, only, dy, dy_xmu);
}

/* What dx needs, the same for all replicas. */
static void put_means(const sbn_part *part, const sbn_piece *piece, const double *dy,
                      const double *dy_xmu)
{
    const sbn_saved *saved = part->saved;
    const size_t first = piece->first, end = first + piece->channels;
    const double n = (double)part->count;
    float *high = sbn_gradient_row(part, 0, SBN_ROW_G),
          *low = sbn_gradient_row(part, 0, SBN_ROW_G_LOW),
          *ks = sbn_gradient_row(part, 0, SBN_ROW_K);
    for (size_t c = first; c < end; ++c) {
        const sbn_two_floats g = sbn_split(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        ks[c] = sbn_is_clamped(saved->var[c], part->layer->eps) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < part->group->replica_count; ++r)
        for (int row = SBN_ROW_G; row < SBN_ROW_WEIGHT; ++row)
            memcpy(sbn_gradient_row(part, r, row) + first, sbn_gradient_row(part, 0, row) + first,
                   sizeof(float) * piece->channels);
}

int sbn_backward_take(sbn_part *part, const sbn_piece *piece, const sbn_words *words)
{
    const sbn_saved *saved = part->saved;
    const size_t first = piece->first, channels = piece->channels;
    const unsigned char *only = words->window->wide ? part->repeat : NULL;
    double *dy = part->columns[DY], *dy_xmu = part->columns[DY_XMU];
    sbn_products_of(words, channels, only ? only + first : NULL, saved->mean + first, dy + first,
                    dy_xmu + first);
    if (part->group->replica_count > 0)
        put_means(part, piece, dy, dy_xmu);
    /* A replica that is the whole group has the group's sums. */
    const int all = part->flags & SBN_GLOBAL_GRADIENTS || !sbn_reduce_must_add(part);
    for (size_t r = 0; r < part->group->replica_count; ++r) {
        if (all)
            put_gradients(part, piece, r, only, dy, dy_xmu);
        else
            put_own_gradients(part, piece, r, words->window, only);
    }
    return !only &&
           sbn_backward_needs_wide(words, channels, saved->invstd + first, part->repeat + first);
}

/* An empty batch has no gradient: zeros. Otherwise take has filled the rows. */
void sbn_backward_fill(sbn_part *part, const sbn_piece *piece)
{
    for (size_t r = 0; part->count == 0 && r < part->group->replica_count; ++r)
        for (int row = 0; row < SBN_ROWS; ++row)
            memset(sbn_gradient_row(part, r, row) + piece->first, 0,
                   sizeof(float) * piece->channels);
}
