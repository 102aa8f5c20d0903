/* A group's insides: replicas, programs, and what joins it to other ranks. */
#ifndef SBN_GROUP_GROUP_H
#define SBN_GROUP_GROUP_H

#include <stdatomic.h>

#include <syncbn/group.h>

#include "base/object.h"
#include "base/versioned_struct.h"
#include "collective/communicator.h"
#include "device/device.h"

struct sbn_pass_pool;

struct sbn_group {
    enum sbn_handle_kind tag;
    size_t replica_count;
    sbn_replica *replicas;
    size_t program_count;
    sbn_program *programs; /* one per device and context */

    sbn_kernel_form form; /* as configured, for a split to hand on */
    char *build_options;

    int references;     /* handles of it that a split gave */
    atomic_int aborted; /* by any thread */

    sbn_communicator communicator;
    struct sbn_pass_pool *passes; /* of src/pass, which knows how to free them */
    void (*free_passes)(struct sbn_pass_pool *passes);
    size_t passes_under_way;
};

/* sbn_group_create; a subgroup takes the programs of the whole where devices are the same. */
int sbn__group_make(const sbn_group_config *config, const sbn_group *whole, sbn_group **group);

#endif
