/* A group's insides: replicas, programs, the transport, and the passes under way. */
#ifndef SBN_GROUP_GROUP_H
#define SBN_GROUP_GROUP_H

#include <stdatomic.h>

#include <syncbn/pass.h>
#include <syncbn/transport.h>

#include "device/device.h"
#include "base/error.h"
#include "base/versioned_struct.h"

/* Every object begins with a tag of its own, so that a foreign handle is told from it. */
enum sbn_handle_kind {
    SBN_HANDLE_GROUP = 0x53424731,
    SBN_HANDLE_BATCHNORM,
    SBN_HANDLE_SAVED,
    SBN_HANDLE_PASS,
    SBN_HANDLE_MODEL,
    SBN_HANDLE_CHECKPOINT,
    SBN_HANDLE_PARALLEL,
    SBN_HANDLE_EXCHANGE
};

/* NULL or another kind of handle: SBN_INVALID_ARGUMENT with a sentence. */
int sbn__check_handle(const void *object, enum sbn_handle_kind tag, const char *argument);

struct sbn_group {
    enum sbn_handle_kind tag;
    size_t replica_count;
    sbn_replica *replicas;
    size_t program_count;
    sbn_program *programs; /* one per device and context */

    int joined; /* there is a transport */
    sbn_transport transport;
    int is_subgroup; /* made by a split: the transport is this group's own, to be ended with it */
    int subgroups;   /* that splits of this group have made, here and on other ranks */
    double timeout;
    sbn_timeout_action on_timeout;
    sbn_kernel_form form; /* as configured, for a split to hand on */
    char *build_options;
    int references;  /* handles of it that a split gave */
    int alone;       /* a timeout has left this rank to its own statistics */
    int failed;      /* a status: takes no more calls; `reason` says why */
    int unreachable; /* and cannot even tell the others */
    char reason[SBN_SENTENCE_SIZE];
    atomic_int aborted;           /* by any thread */
    const atomic_int *abort_flag; /* looked at by what waits: `aborted`, or another group's */

    uint32_t sequence;                   /* of the next pass */
    sbn_pass *under_way[SBN_MAX_PASSES]; /* in the order they began */
    size_t under_way_count;
    sbn_pass *idle; /* ended passes and their parts, kept for their buffers */
    struct sbn_layer_pass *idle_layer_passes;
};

/* Does this group combine with other ranks? */
int sbn__group_is_joined(const sbn_group *group);

/* sbn_group_create; a part takes the programs of the whole where devices are the same. */
int sbn__group_make(const sbn_group_config *config, const sbn_group *whole, sbn_group **group);

/* Has a thread ended the group by sbn_group_abort? Looked at wherever the library waits for ranks. */
int sbn__group_is_aborted(const sbn_group *group);

/*
 * SBN_SUCCESS if the group takes calls, else SBN_GROUP_FAILED with a sentence that names `what`
 * failed: "the group". An abort that nothing has noticed yet is noticed here.
 */
int sbn__group_check(sbn_group *group, const char *what);

/*
 * SBN_ABORTED or else SBN_TIMEOUT, with the sentence of a wait in `what` that ended before the sum
 * was there. `rank` is this one, `missing` who has not come.
 */
int sbn__group_fail_waiting(const sbn_group *group, int rank, const char *what,
                            const char *missing);

/* Marks the group failed with the last sentence as the reason; returns status. */
int sbn__group_fail(sbn_group *group, int status);

#endif
