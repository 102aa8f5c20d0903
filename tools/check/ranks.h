/*
 * A problem spread over the ranks of a job: each rank has some of its replicas,
 * runs the same calls, and in the end holds all results. The functions are a
 * caller's, since nothing here knows of MPI.
 */
#ifndef TOOLS_CHECK_RANKS_H
#define TOOLS_CHECK_RANKS_H

#include <syncbn.h>

typedef struct runner_ranks {
    int rank, world_size;
    void *context;
    /* A transport for one more group; the context ends it when the runner has gone. */
    int (*transport)(void *context, sbn_transport *transport);
    /* Ors the bits of all ranks' data: what a rank does not have is 0 there. */
    int (*join)(void *context, float *data, size_t count);
} runner_ranks;

/* This rank's replicas of so many: *first and those behind it. `ranks` may be NULL: it has all. */
static inline size_t runner_ranks_replicas(const runner_ranks *ranks, size_t replicas,
                                           size_t *first)
{
    const size_t rank = ranks ? (size_t)ranks->rank : 0;
    const size_t world_size = ranks ? (size_t)ranks->world_size : 1;
    *first = replicas * rank / world_size;
    return replicas * (rank + 1) / world_size - *first;
}

#endif
