/* Creates and destroys an sbn_data_parallel. */
#include "parallel/parallel.h"

#include "base/memory.h"
#include "collective/split.h"
#include "parallel/average.h"
#include "parallel/bucket.h"
#include "parallel/check.h"
#include "parallel/exchange.h"

static const char *const operation = "sbn_data_parallel_create";

int sbn_data_parallel_config_init(sbn_data_parallel_config *config, size_t size)
{
    static const sbn_data_parallel_config defaults = SBN_DATA_PARALLEL_CONFIG_INIT;
    return sbn__struct_init(config, size, &defaults, SBN_STRUCT(sbn_data_parallel_config),
                            "config");
}

/* Copies and checks the caller's configuration; NULL: the defaults. */
static int read_config(const sbn_data_parallel_config *given, sbn_data_parallel_config *config)
{
    const size_t least = sizeof(float) * SBN_AVERAGE_BLOCK, most = (size_t)1 << 30;
    *config = (sbn_data_parallel_config)SBN_DATA_PARALLEL_CONFIG_INIT;
    const int status = given ? sbn__struct_read(config, given, SBN_STRUCT(sbn_data_parallel_config),
                                                "config")
                             : SBN_SUCCESS;
    if (status)
        return status;
    if (config->bucket_bytes < least || config->bucket_bytes > most)
        return sbn__fail(SBN_INVALID_ARGUMENT, "bucket_bytes: expected %zu to %zu, got %zu", least,
                         most, config->bucket_bytes);
    return SBN_SUCCESS;
}

static int check_group(sbn_group *group)
{
    sbn_communicator *c = &group->communicator;
    int status = sbn__communicator_check(c, "the group");
    if (!status)
        status = sbn__parallel_check_group(group);
    if (!status && group->passes_under_way > 0)
        status = sbn__fail(SBN_INVALID_ARGUMENT,
                           "group: expected no pass of it under way, got %zu; end them first",
                           group->passes_under_way);
    return status ? status : sbn__communicator_check_splits(c);
}

/* Opens everything that needs no other ranks. */
static int open_parallel(sbn_data_parallel *made, const sbn_group *group,
                         const sbn_data_parallel_config *config)
{
    const size_t count = group->replica_count;
    int status = SBN_SUCCESS;
    made->bucket_floats = config->bucket_bytes / sizeof(float);
    /* A rank without replicas stays alone. */
    sbn__communicator_open(&made->communicator, NULL, group->communicator.timeout,
                           SBN_TIMEOUT_FAIL);
    made->replicas = sbn__allocate(sizeof *made->replicas * count);
    if (!made->replicas)
        return sbn__fail_memory("exchanges of tensors");
    made->replica_count = count;
    for (size_t r = 0; r < count && !status; ++r)
        status = sbn__replica_open(&made->replicas[r], r, group->replicas[r].queue);
    for (int i = 0; i < SBN_BUCKETS && !status; ++i)
        status = sbn__bucket_open(&made->buckets[i], count);
    return status;
}

static void free_parallel(sbn_data_parallel *parallel)
{
    if (!parallel)
        return;
    sbn__exchanges_free(parallel);
    for (int i = 0; i < SBN_BUCKETS; ++i)
        sbn__bucket_close(&parallel->buckets[i], parallel->replica_count);
    for (size_t r = 0; r < parallel->replica_count; ++r)
        sbn__replica_close(&parallel->replicas[r]);
    sbn__free(parallel->claims.list);
    sbn__free(parallel->replicas);
    sbn__communicator_close(&parallel->communicator);
    sbn__free(parallel);
}

/* Splits a communicator for the ranks that have replicas. After a timeout it is always dead. */
static int join(sbn_data_parallel *made, sbn_group *group, int status)
{
    sbn_subset subset = {.colour = 0};
    sbn_call call = {.operation = operation,
                     .name = "",
                     .code = SBN_CODE_PARALLEL,
                     .error = status};
    const size_t count = group->replica_count > 0 && !status;
    status = sbn__communicator_split(&group->communicator, &call, &subset, count, 1);
    if (status || count == 0)
        return status;
    made->communicator = subset.communicator;
    made->communicator.on_timeout = SBN_TIMEOUT_FAIL;
    made->communicator.abort_flag = group->communicator.abort_flag;
    return SBN_SUCCESS;
}

/* Each rank sends its number of replicas, and whether it failed. */
enum { REPLICAS, FAILED, RANK_WORDS };

/* Numbers the replicas of all ranks. */
static int number_replicas(sbn_data_parallel *made, const int64_t *words)
{
    const sbn_communicator *c = &made->communicator;
    for (int rank = 0; rank < c->transport.world_size; ++rank) {
        const int64_t *its = words + (size_t)rank * RANK_WORDS;
        if (its[FAILED])
            return sbn__fail(SBN_REMOTE_ERROR,
                             "rank %d called sbn_data_parallel_create and reported %s",
                             sbn__communicator_name(c, rank), sbn_status_name((int)its[FAILED]));
        const int own = rank == c->transport.rank;
        if (its[REPLICAS] < 1 || its[REPLICAS] > SBN_MAX_REPLICAS ||
            (own && its[REPLICAS] != (int64_t)made->replica_count))
            return sbn__fail(SBN_TRANSPORT_ERROR,
                             "the transport's sums in %s give rank %d %lld replicas", operation,
                             sbn__communicator_name(c, rank), (long long)its[REPLICAS]);
        if (own)
            made->first = made->total;
        made->total += (size_t)its[REPLICAS];
    }
    if (made->total > SBN_MAX_REPLICAS)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: expected at most %d replicas over all ranks, got %zu",
                         SBN_MAX_REPLICAS, made->total);
    return SBN_SUCCESS;
}

/* The first request: either all ranks have enough memory to continue, or none does. */
static int meet(sbn_data_parallel *made)
{
    sbn_communicator *c = &made->communicator;
    const size_t words = (size_t)c->transport.world_size * RANK_WORDS;
    sbn_request request = {0};
    int error = sbn__exchanges_prepare(made);
    if (!error)
        error = sbn__exchanges_prepare(made);
    if (sbn__request_reserve(&request, words, operation))
        return sbn__communicator_die_of_memory(c, operation);
    int64_t *slot = request.words + (size_t)c->transport.rank * RANK_WORDS;
    slot[REPLICAS] = (int64_t)made->replica_count;
    slot[FAILED] = error;
    int status = sbn__request_start(c, &request, SBN_TAG_WORDS, words);
    if (!status)
        status = sbn__request_wait(c, &request, operation);
    if (!status)
        status = error ? sbn__fail_memory("an exchange of tensors")
                       : number_replicas(made, request.words);
    sbn__request_free(&request);
    return status;
}

int sbn_data_parallel_create(sbn_group *group, const sbn_data_parallel_config *given,
                             sbn_data_parallel **parallel)
{
    if (!parallel)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "parallel: expected a place for the handle, got NULL");
    *parallel = NULL;
    int status = sbn__enter(group, SBN_HANDLE_GROUP, "group");
    if (status)
        return status;
    sbn_data_parallel *made = sbn__allocate(sizeof *made);
    sbn_data_parallel_config config;
    status = check_group(group);
    if (!status)
        status = read_config(given, &config);
    if (!status)
        status = made ? open_parallel(made, group, &config) : sbn__fail_memory(operation);
    if (sbn__group_meets(group))
        status = join(made, group, status);
    if (!status && made->replica_count > 0)
        status = meet(made);
    if (!status) {
        sbn__object_add(&made->object, SBN_HANDLE_PARALLEL);
        made->group = group;
        ++group->data_parallels;
        *parallel = made;
        return SBN_SUCCESS;
    }
    free_parallel(made);
    return status;
}

int sbn_data_parallel_destroy(sbn_data_parallel *parallel)
{
    const int status = parallel ? sbn__check_handle(parallel, SBN_HANDLE_PARALLEL, "parallel")
                                : SBN_SUCCESS;
    if (!parallel || status)
        return status;
    if (parallel->under_way_count > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "parallel: expected no exchange under way, got %zu; end them, then "
                         "destroy it",
                         parallel->under_way_count);
    --parallel->group->data_parallels;
    sbn__object_remove(&parallel->object);
    free_parallel(parallel);
    return SBN_SUCCESS;
}

size_t sbn_data_parallel_replicas(const sbn_data_parallel *parallel)
{
    return sbn__object_is(parallel, SBN_HANDLE_PARALLEL) ? parallel->total : 0;
}

size_t sbn_data_parallel_first(const sbn_data_parallel *parallel)
{
    return sbn__object_is(parallel, SBN_HANDLE_PARALLEL) ? parallel->first : 0;
}
