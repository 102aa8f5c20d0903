#include "check/placement.h"

#include <stdlib.h>
#include <string.h>

#include "check/mix.h"

/* Samples 0 ... n-1 in the order in which they are dealt. */
static void deal_order(size_t *order, size_t n, uint64_t shuffle)
{
    for (size_t i = 0; i < n; ++i)
        order[i] = i;
    for (size_t i = n; shuffle && i > 1; --i) {
        size_t j = (size_t)(mix(shuffle, i) % i);
        size_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* N, C, then space, of each replica. */
static void make_shapes(const problem *p, placement *g)
{
    for (size_t r = 0; r < g->replicas; ++r) {
        /* Even dealing gives the first replicas one sample more. */
        size_t even = p->samples / g->replicas + (r < p->samples % g->replicas);
        g->shape[r][0] = p->has_split ? p->split[r] : even;
        g->shape[r][1] = p->channels;
        g->plane[r] = 1;
        for (int i = 0; i < p->space_dims; ++i) {
            g->shape[r][2 + i] = p->has_sizes ? p->sizes[r][i] : p->space[i];
            g->plane[r] *= g->shape[r][2 + i];
        }
    }
}

int placement_make(const problem *p, size_t replicas, placement *g)
{
    memset(g, 0, sizeof *g);
    g->replicas = p->replicas ? p->replicas : replicas;
    g->samples = p->samples;
    g->channels = p->channels;
    g->dims = 2 + p->space_dims;
    make_shapes(p, g);

    g->sample = malloc((p->samples + 1) * sizeof *g->sample);
    size_t *order = malloc((p->samples + 1) * sizeof *order);
    if (!g->sample || !order) {
        free(order);
        placement_free(g);
        return SBN_OUT_OF_MEMORY;
    }
    deal_order(order, p->samples, p->shuffle);
    size_t dealt = 0;
    for (size_t r = 0; r < g->replicas; ++r) {
        for (size_t slot = 0; slot < g->shape[r][0]; ++slot) {
            g->sample[order[dealt++]] =
                (sample_place){.replica = r, .slot = slot, .plane = g->plane[r]};
        }
    }
    free(order);
    for (size_t s = 0; s < g->samples; ++s) {
        g->sample[s].start = g->elements;
        g->elements += g->channels * g->sample[s].plane;
        g->values += g->sample[s].plane;
    }
    return SBN_SUCCESS;
}

void placement_free(placement *g)
{
    free(g->sample);
    g->sample = NULL;
}

size_t placement_shard_elements(const placement *g, size_t r)
{
    return g->shape[r][0] * g->channels * g->plane[r];
}

void placement_move(const placement *g, sbn_layout layout, size_t r, int gathers, float *global,
                    float *shard)
{
    const int last = layout == SBN_LAYOUT_NHWC;
    for (size_t s = 0; s < g->samples; ++s)
        for (size_t c = 0; c < g->channels && g->sample[s].replica == r; ++c) {
            const sample_place *at = &g->sample[s];
            float *plane = global + placement_plane_start(g, s, c);
            float *own = shard + at->slot * g->channels * at->plane + c * (last ? 1 : at->plane);
            for (size_t i = 0; i < at->plane; ++i) {
                float *element = &own[i * (last ? g->channels : 1)];
                if (gathers)
                    plane[i] = *element;
                else
                    *element = plane[i];
            }
        }
}
