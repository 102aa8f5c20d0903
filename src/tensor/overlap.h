/*
 * The buffers of one call, of all its layers and replicas: none may overlap one that is written. Exception: gradients
 * that several layers of a replica add up, if the later layer accumulates on an in-order queue.
 */
#pragma once

#include "tensor/shard.h"

/* A buffer, with its layer and replica. */
typedef struct sbn_claim {
    sbn_use use;
    size_t order; /* of the call */
    const char *operation, *layer;
    size_t branch, replica;
    int gradient; /* of weight or bias */
    int adds;     /* a gradient, to what an earlier layer has left there */
} sbn_claim;

/* Begins a call with at most so many claims. */
int sbn__claims_start(sbn_claims *claims, size_t most);

/* Adds buffers that are not missing; `whose` has their layer and replica. */
void sbn__claims_add(sbn_claims *claims, const sbn_claim *whose, const sbn_use *uses, size_t count);

/* Adds those of a layer's checked shards to its group's. */
void sbn__claims_add_shards(const sbn_batchnorm *layer, size_t branch, const sbn_shard *shards,
                            const sbn_shape *shapes, unsigned needs, unsigned flags,
                            const char *operation);

/*
 * Sorts claims by their place; 1 if two of them overlap that may not: the first ones in the
 * order of the call, wherever drivers put buffers.
 */
int sbn__claims_find(const sbn_claims *claims, const sbn_claim **earlier, const sbn_claim **later);

/*
 * SBN_INVALID_ARGUMENT with a sentence that names two buffers that overlap; *branch is the later
 * one's. Reorders the group's claims.
 */
int sbn__claims_check(const sbn_group *group, size_t *branch);

/* Does all of this for a call of one layer with checked shards. */
int sbn__check_apart(const sbn_batchnorm *layer, const sbn_shard *shards, const sbn_shape *shapes,
                     unsigned needs, const char *operation);
