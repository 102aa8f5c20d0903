/* The definition of a group: replicas, programs, and the communicator to other ranks. */
#pragma once

#include <stdatomic.h>

#include <syncbn/group.h>
#include <syncbn/pass.h>

#include "base/object.h"
#include "base/versioned_struct.h"
#include "collective/communicator.h"
#include "device/device.h"

struct sbn_layer_pass;
struct sbn_claim;

/* The buffers of a call (src/tensor/overlap.h), in memory that is kept from call to call. */
typedef struct sbn_claims {
    struct sbn_claim *list;
    size_t room, count;
} sbn_claims;

struct sbn_group {
    sbn_object object;
    size_t replica_count;
    sbn_replica *replicas;
    int combines; /* its devices can combine: all in one context */

    sbn_group_config config;             /* without queues and transport; a split passes it on */
    char *build_options, *program_cache; /* its strings */

    int references;     /* handles that a split returned */
    sbn_group *whole;   /* that it was split from, if its transport needs that one's; or NULL */
    atomic_int parts;   /* of which it is the whole; each may end in a thread of its own */
    atomic_int aborted; /* by any thread */

    sbn_communicator communicator;
    sbn_pass *passes[SBN_MAX_PASSES]; /* under way, in the order they began */
    size_t passes_under_way;
    sbn_pass *idle_passes; /* ended, kept for their memory */
    struct sbn_layer_pass *idle_layer_passes;
    void (*free_passes)(sbn_group *group); /* of src/pass, which knows how; NULL: none were begun */
    sbn_claims claims;
    size_t layers;         /* that belong to it now */
    size_t data_parallels; /* that end when it is aborted */
};

/* sbn_group_create of a checked configuration. */
int sbn__group_make(const sbn_group_config *config, sbn_group **group);

/*
 * Loads the kernels for tensors of a type, without a fusion and with this one, which stay until the
 * group ends; on an error those of some replicas.
 */
int sbn__group_load(sbn_group *group, sbn_type type, int fusion);

/*
 * 1 if this rank can take part in a call of all ranks, from which the others learn of its error; or if
 * there are no others.
 */
int sbn__group_meets(const sbn_group *group);

/* Ends a group that nothing uses. */
void sbn__group_free(sbn_group *group);
