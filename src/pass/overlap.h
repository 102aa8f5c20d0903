/*
 * Buffers of one call, of all its layers and replicas, of which none may overlap one that is
 * written. Apart from gradients of several layers that a replica adds up: they may meet where the
 * later one accumulates, on a queue that keeps order.
 */
#ifndef SBN_PASS_OVERLAP_H
#define SBN_PASS_OVERLAP_H

#include "pass/shard.h"

/* A buffer, and whose it is. */
typedef struct sbn_claim {
    sbn_use use;
    size_t order; /* of the call */
    const char *operation, *layer;
    size_t branch, replica;
    int gradient; /* of weight or bias */
    int adds;     /* a gradient, to what an earlier layer has left there */
} sbn_claim;

/* Those of a call, in memory that the group keeps. */
typedef struct sbn_claims {
    sbn_group *group;
    size_t count;
} sbn_claims;

/* None yet, and room for those of `branches` layers. */
int sbn__claims_start(sbn_claims *claims, sbn_group *group, size_t branches);

/* Adds buffers, apart from missing ones, of which `whose` says whose they are. */
void sbn__claims_add(sbn_claims *claims, const sbn_claim *whose, const sbn_use *uses, size_t count);

/* Adds those of a layer's checked shards. */
void sbn__claims_add_shards(sbn_claims *claims, const sbn_batchnorm *layer, size_t branch,
                            const sbn_shard *shards, const sbn_shape *shapes, unsigned needs,
                            unsigned flags, const char *operation);

/*
 * SBN_INVALID_ARGUMENT with a sentence that names two that overlap; *branch is then the later
 * one's. It changes their order.
 */
int sbn__claims_check(const sbn_claims *claims, size_t *branch);

/* All of it for a call of one layer, whose shards are checked. */
int sbn__check_apart(const sbn_batchnorm *layer, const sbn_shard *shards, const sbn_shape *shapes,
                     unsigned needs, const char *operation);

#endif
