/* A group's insides: replicas, programs, the transport, and the passes under way. */
#ifndef SBN_GROUP_GROUP_H
#define SBN_GROUP_GROUP_H

#include <syncbn/pass.h>

#include "device/device.h"
#include "base/error.h"
#include "base/object.h"

struct sbn_group {
    sbn_object object;
    size_t replica_count;
    sbn_replica *replicas;

    int joined; /* there is a transport */
    sbn_transport transport;
    int is_subgroup; /* made by a split: the transport is this group's own, to be ended with it */
    int subgroups;   /* that splits of this group have made, here and on other ranks */
    double timeout;
    sbn_timeout_action on_timeout;
    sbn_kernel_form form; /* as configured, for a split to hand on */
    char *build_options;
    int alone;       /* a timeout has left this rank to its own statistics */
    int failed;      /* a status: takes no more calls; `reason` says why */
    int unreachable; /* and cannot even tell the others */
    char reason[SBN_SENTENCE_SIZE];

    size_t layers;                       /* that belong to it now */
    uint32_t sequence;                   /* of the next pass */
    sbn_pass *under_way[SBN_MAX_PASSES]; /* in the order they began */
    size_t under_way_count;
    sbn_pass *idle; /* ended passes and their parts, kept for their buffers */
    struct sbn_layer_pass *idle_layer_passes;
    struct sbn_claim *claims; /* room for the buffers of a call: src/pass/overlap.h */
    size_t claims_size;
};

/* Does this group combine with other ranks? */
int sbn__group_is_joined(const sbn_group *group);

/* sbn_group_create, within a call. */
int sbn__group_make(const sbn_group_config *config, sbn_group **group);

/* Ends a group that nothing uses. */
void sbn__group_free(sbn_group *group);

/* Marks the group failed with the last sentence as the reason; returns status. */
int sbn__group_fail(sbn_group *group, int status);

#endif
