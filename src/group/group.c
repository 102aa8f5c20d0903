#include "group/group.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/versioned_struct.h"
#include "device/commands.h"
#include "program/build.h"
#include "program/build_options.h"
#include "program/cache.h"
#include "program/compiler_options.h"

int sbn_group_config_init(sbn_group_config *config, size_t size)
{
    static const sbn_group_config defaults = SBN_GROUP_CONFIG_INIT;
    return sbn__struct_init(config, size, &defaults, SBN_STRUCT(sbn_group_config), "config");
}

/* Copies the caller's structs of any version. */
static int read_config(const sbn_group_config *given, sbn_group_config *config,
                       sbn_transport *transport)
{
    if (!given)
        return sbn__fail(SBN_INVALID_ARGUMENT, "config: expected a configuration, got NULL");
    int status = sbn__struct_read(config, given, SBN_STRUCT(sbn_group_config), "config");
    if (status || !config->transport)
        return status;
    status = sbn__struct_read(transport, config->transport, SBN_STRUCT(sbn_transport), "transport");
    config->transport = transport;
    return status;
}

static int check_config(const sbn_group_config *config)
{
    if (config->replicas > SBN_MAX_REPLICAS)
        return sbn__fail(SBN_INVALID_ARGUMENT, "replicas: expected at most %d, got %zu",
                         SBN_MAX_REPLICAS, config->replicas);
    if (config->replicas > 0 && !config->queues)
        return sbn__fail(SBN_INVALID_ARGUMENT, "queues: expected %zu queues, got NULL",
                         config->replicas);
    if (config->replicas == 0 && !config->transport)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "replicas: expected at least 1 in a group without a transport, got 0");
    if (!(config->timeout > 0.0))
        return sbn__fail(SBN_INVALID_ARGUMENT, "timeout: expected seconds above 0, got %g",
                         config->timeout);
    if (config->on_timeout != SBN_TIMEOUT_FAIL && config->on_timeout != SBN_TIMEOUT_LOCAL)
        return sbn__fail(SBN_INVALID_ARGUMENT, "on_timeout: expected an sbn_timeout_action, got %d",
                         (int)config->on_timeout);
    if ((unsigned)config->form > SBN_FORM_GPU)
        return sbn__fail(SBN_INVALID_ARGUMENT, "form: expected an sbn_kernel_form, got %d",
                         (int)config->form);
    const char *options = config->build_options;
    const int status = options ? sbn__build_options_check(options) : SBN_SUCCESS;
    const sbn_transport *transport = config->transport;
    if (status || !transport)
        return status;
    if (!transport->start || !transport->test)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "transport: expected a table with start and test, got %s",
                         transport->start ? "no test" : "no start");
    if (transport->world_size < 1 || transport->world_size > SBN_MAX_WORLD_SIZE ||
        transport->rank < 0 || transport->rank >= transport->world_size)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "transport: expected a rank below a world size of 1 to %d, got rank %d of "
                         "%d",
                         SBN_MAX_WORLD_SIZE, transport->rank, transport->world_size);
    return SBN_SUCCESS;
}

/*
 * Where there are several contexts, no device sees the others' sums. Between devices with memory of their
 * own drivers copy whole buffers, back and forth: the host is asked for sums alone.
 */
static int can_combine(const sbn_group *group)
{
    const sbn_replica *first = group->replicas;
    int can = group->replica_count > 0 && group->replica_count <= SBN_MAX_COMBINED;
    for (size_t r = 0; r < group->replica_count; ++r) {
        const sbn_replica *other = &group->replicas[r];
        can = can && sbn__replica_combines(other) && other->context == first->context &&
              (other->device == first->device || (other->unified && first->unified));
    }
    return can;
}

/* The numbers of $SYNCBN_TUNING; without it those kept for the device, if any. */
static int tune(sbn_replica *replica, const char *program_cache)
{
    char sentence[256];
    const char *given = secure_getenv("SYNCBN_TUNING");
    if (given)
        return sbn__tuning_parse(given, &replica->tuning, sentence, sizeof sentence)
                   ? SBN_SUCCESS
                   : sbn__fail(SBN_INVALID_ARGUMENT, "SYNCBN_TUNING: %s", sentence);
    const int folder = sbn__cache_open(program_cache, 0);
    sbn__tuning_load(folder, replica->device, replica->form, &replica->tuning);
    sbn__cache_close(folder);
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
            status = sbn__largest_buffer(replica->device, config->build_options,
                                         &replica->largest_buffer);
        if (!status)
            status = tune(replica, config->program_cache);
        if (status)
            return status;
    }
    const int status = sbn__group_load(group, SBN_F32, 0);
    group->combines = !status && can_combine(group);
    return status;
}

int sbn__group_meets(const sbn_group *group)
{
    const sbn_communicator *c = &group->communicator;
    return !sbn__communicator_is_joined(c) || (!c->dead && group->passes_under_way == 0);
}

int sbn__group_load(sbn_group *group, sbn_type type, int fusion)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        status = sbn__replica_load(&group->replicas[r], type, 0, 0, &group->config);
        if (!status && fusion)
            status = sbn__replica_load(&group->replicas[r], type, fusion, 0, &group->config);
    }
    return status;
}

/* Copies a string that the kernels of further types need. */
static int keep(char **kept, const char *text)
{
    if (!text)
        return SBN_SUCCESS;
    *kept = sbn__text_copy(text, strlen(text));
    return *kept ? SBN_SUCCESS : sbn__fail_memory("the build options");
}

int sbn_group_create(const sbn_group_config *given, sbn_group **group)
{
    sbn_group_config config;
    sbn_transport transport;
    sbn__error_clear();
    if (!group)
        return sbn__fail(SBN_INVALID_ARGUMENT, "group: expected a place for the handle, got NULL");
    *group = NULL;
    int status = read_config(given, &config, &transport);
    if (!status)
        status = check_config(&config);
    return status ? status : sbn__group_make(&config, group);
}

int sbn__group_make(const sbn_group_config *config, sbn_group **group)
{
    sbn_group *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("a group");
    sbn__object_add(&made->object, SBN_HANDLE_GROUP);
    sbn__communicator_open(&made->communicator, config->transport, config->timeout,
                           config->on_timeout);
    made->communicator.abort_flag = &made->aborted;
    int status = keep(&made->build_options, config->build_options);
    if (!status)
        status = keep(&made->program_cache, config->program_cache);
    made->config = *config;
    made->config.queues = NULL;
    made->config.replicas = 0;
    made->config.transport = NULL;
    made->config.build_options = made->build_options;
    made->config.program_cache = made->program_cache;
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
    if (group->free_passes)
        group->free_passes(group);
    for (size_t r = 0; r < group->replica_count; ++r)
        sbn__replica_close(&group->replicas[r]);
    sbn__communicator_close(&group->communicator);
    sbn__free(group->claims.list);
    sbn__free(group->replicas);
    sbn__free(group->build_options);
    sbn__free(group->program_cache);
    sbn__object_remove(&group->object);
    sbn__free(group);
}

int sbn_group_destroy(sbn_group *group)
{
    const int status = group ? sbn__check_handle(group, SBN_HANDLE_GROUP, "group") : SBN_SUCCESS;
    if (!group || status)
        return status;
    if (group->references > 1) {
        --group->references;
        return SBN_SUCCESS;
    }
    if (group->passes_under_way > 0)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "group: expected no pass of it under way, got %zu; end them, then destroy it",
            group->passes_under_way);
    if (group->layers > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: expected no layers in it, got %zu; destroy them or move them to "
                         "another group, then destroy it",
                         group->layers);
    if (group->data_parallels > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: expected no sbn_data_parallel of it, got %zu; destroy them, then "
                         "the group",
                         group->data_parallels);
    if (group->parts > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: expected no groups split from it, got %d; destroy them first",
                         group->parts);
    sbn_group *whole = group->whole;
    sbn__group_free(group);
    if (whole)
        --whole->parts;
    return SBN_SUCCESS;
}

size_t sbn_group_replicas(const sbn_group *group)
{
    return sbn__object_is(group, SBN_HANDLE_GROUP) ? group->replica_count : 0;
}

int sbn_group_rank(const sbn_group *group)
{
    return sbn__object_is(group, SBN_HANDLE_GROUP) ? group->communicator.transport.rank : 0;
}

int sbn_group_world_size(const sbn_group *group)
{
    return sbn__object_is(group, SBN_HANDLE_GROUP) ? group->communicator.transport.world_size : 0;
}

int sbn_group_status(const sbn_group *group, const char **reason)
{
    if (reason)
        *reason = "";
    const int status = sbn__enter(group, SBN_HANDLE_GROUP, "group");
    if (status)
        return status;
    const sbn_communicator *c = &group->communicator;
    const int aborted = !c->status && sbn__communicator_is_aborted(c);
    if (reason)
        *reason = aborted ? "sbn_group_abort was called" : c->reason;
    return aborted ? SBN_ABORTED : c->status;
}

int sbn_group_abort(sbn_group *group)
{
    const int status = sbn__enter(group, SBN_HANDLE_GROUP, "group");
    if (!status)
        atomic_store_explicit(&group->aborted, 1, memory_order_release);
    return status;
}
