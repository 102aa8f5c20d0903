#include "group/group.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "pass/pass.h"

int sbn__group_is_joined(const sbn_group *group)
{
    return group->joined && !group->alone;
}

int sbn__group_fail(sbn_group *group, int status)
{
    if (!group->failed) {
        group->failed = status;
        snprintf(group->reason, sizeof group->reason, "%s", sbn_last_error());
    }
    return status;
}

static int check_config(const sbn_group_config *config)
{
    if (!config)
        return sbn__fail(SBN_INVALID_ARGUMENT, "config: a configuration was expected, NULL came");
    if (config->size != sizeof *config)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "config: size %zu was expected, %zu came; start from SBN_GROUP_CONFIG_INIT",
            sizeof *config, config->size);
    if (config->replicas > SBN_MAX_REPLICAS)
        return sbn__fail(SBN_INVALID_ARGUMENT, "replicas: expected at most %d, got %zu",
                         SBN_MAX_REPLICAS, config->replicas);
    if (config->replicas > 0 && !config->queues)
        return sbn__fail(SBN_INVALID_ARGUMENT, "queues: %zu queues were expected, NULL came",
                         config->replicas);
    if (config->replicas == 0 && !config->transport)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "replicas: at least 1 was expected in a group without a transport, 0 came");
    if (!(config->timeout > 0.0))
        return sbn__fail(SBN_INVALID_ARGUMENT, "timeout: seconds above 0 were expected, %g came",
                         config->timeout);
    if (config->on_timeout != SBN_TIMEOUT_FAIL && config->on_timeout != SBN_TIMEOUT_LOCAL)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "on_timeout: an sbn_timeout_action was expected, %d came",
                         (int)config->on_timeout);
    if ((unsigned)config->form > SBN_FORM_GPU)
        return sbn__fail(SBN_INVALID_ARGUMENT, "form: an sbn_kernel_form was expected, %d came",
                         (int)config->form);
    const sbn_transport *transport = config->transport;
    if (!transport)
        return SBN_SUCCESS;
    if (transport->size != sizeof *transport || !transport->start || !transport->test)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "transport: a table of size %zu with start and test was expected, size %zu came",
            sizeof *transport, transport->size);
    if (transport->world_size < 1 || transport->world_size > SBN_MAX_WORLD_SIZE ||
        transport->rank < 0 || transport->rank >= transport->world_size)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "transport: a rank below a world size of 1 to %d was expected, "
                         "rank %d of %d came",
                         SBN_MAX_WORLD_SIZE, transport->rank, transport->world_size);
    return SBN_SUCCESS;
}

static int open_replicas(sbn_group *group, const sbn_group_config *config)
{
    group->replicas = sbn__allocate(sizeof *group->replicas * config->replicas);
    if (!group->replicas)
        return sbn__fail_memory("the replicas");
    group->replica_count = config->replicas;
    for (size_t r = 0; r < config->replicas; ++r) {
        sbn_replica *replica = &group->replicas[r];
        int status = sbn__replica_open(replica, r, config->queues[r]);
        if (!status)
            status = sbn__program_form(replica->device, config->form, &replica->form);
        if (!status)
            status = sbn__program_acquire(replica->context, replica->device, replica->form,
                                          config->build_options, config->program_cache,
                                          &replica->program);
        if (!status)
            status = sbn__kernels_create(&replica->kernels, replica->program);
        if (status)
            return status;
    }
    return SBN_SUCCESS;
}

static int keep_options(sbn_group *group, const char *options)
{
    if (!options)
        return SBN_SUCCESS;
    group->build_options = sbn__allocate(strlen(options) + 1);
    if (!group->build_options)
        return sbn__fail_memory("the build options");
    strcpy(group->build_options, options);
    return SBN_SUCCESS;
}

int sbn_group_create(const sbn_group_config *config, sbn_group **group)
{
    sbn__error_clear();
    return sbn__group_make(config, group);
}

int sbn__group_make(const sbn_group_config *config, sbn_group **group)
{
    if (!group)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: a place for the handle was expected, NULL came");
    *group = NULL;
    int status = check_config(config);
    if (status)
        return status;
    sbn_group *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("a group");
    sbn__object_add(&made->object, SBN_HANDLE_GROUP);
    made->timeout = config->timeout;
    made->on_timeout = config->on_timeout;
    made->form = config->form;
    if (config->transport) {
        made->transport = *config->transport;
        made->joined = made->transport.world_size > 1;
    }
    status = keep_options(made, config->build_options);
    if (!status)
        status = open_replicas(made, config);
    if (status) {
        sbn__group_free(made);
        return status;
    }
    *group = made;
    return SBN_SUCCESS;
}

void sbn__group_free(sbn_group *group)
{
    sbn__passes_free(group);
    for (size_t r = 0; group->replicas && r < group->replica_count; ++r)
        sbn__replica_close(&group->replicas[r]);
    if (group->is_subgroup && group->transport.end)
        group->transport.end(group->transport.context);
    sbn__free(group->replicas);
    sbn__free(group->build_options);
    sbn__free(group->claims);
    sbn__object_remove(&group->object);
    sbn__free(group);
}

int sbn_group_destroy(sbn_group *group)
{
    const int status = group ? sbn__check_handle(group, SBN_HANDLE_GROUP, "group") : SBN_SUCCESS;
    if (!group || status)
        return status;
    if (group->under_way_count > 0)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "group: expected no pass of it under way, got %zu; end them, then destroy it",
            group->under_way_count);
    if (group->layers > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: expected no layers in it, got %zu; destroy them or move them to "
                         "another group, then destroy it",
                         group->layers);
    sbn__group_free(group);
    return SBN_SUCCESS;
}

size_t sbn_group_replicas(const sbn_group *group)
{
    return sbn__object_is(group, SBN_HANDLE_GROUP) ? group->replica_count : 0;
}

int sbn_group_rank(const sbn_group *group)
{
    return sbn__object_is(group, SBN_HANDLE_GROUP) && group->transport.start ? group->transport.rank
                                                                             : 0;
}

int sbn_group_world_size(const sbn_group *group)
{
    if (!sbn__object_is(group, SBN_HANDLE_GROUP))
        return 0;
    return group->transport.start ? group->transport.world_size : 1;
}
