/*
 * Where a global batch lies: which replica has which sample, and the global
 * logical order in which every tensor of this checker is kept on the host:
 * sample by sample, in a sample channel by channel, in a channel position by
 * position. That order knows nothing of shards, layouts and offsets, so the
 * same batch has the same arrays however it is spread.
 */
#pragma once

#include "check/problem.h"

typedef struct sample_place {
    size_t replica, slot; /* the sample is the slot-th of its replica */
    size_t plane;         /* positions in one channel of the sample */
    size_t start;         /* its first element in global order */
} sample_place;

typedef struct placement {
    size_t replicas, samples, channels;
    size_t values;   /* per channel, over the whole batch */
    size_t elements; /* values * channels */
    int dims;        /* of the shapes */
    size_t shape[PROBLEM_MAX_REPLICAS][5];
    size_t plane[PROBLEM_MAX_REPLICAS];
    sample_place *sample; /* of each sample, in global order */
} placement;

/* Lays a problem out over its replicas, or over `replicas` where it leaves the number open. */
int placement_make(const problem *p, size_t replicas, placement *g);
void placement_free(placement *g);

/* The first element of channel c of sample s in global order. */
static inline size_t placement_plane_start(const placement *g, size_t s, size_t c)
{
    return g->sample[s].start + c * g->sample[s].plane;
}

/* Elements of replica r's shard. */
size_t placement_shard_elements(const placement *g, size_t r);

/* Copies replica r's shard out of a tensor in global order or, if it `gathers`, back into it. */
void placement_move(const placement *g, sbn_layout layout, size_t r, int gathers, float *global,
                    float *shard);
