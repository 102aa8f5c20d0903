#include "parallel/parallel.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "parallel/average.h"
#include "parallel/bucket.h"
#include "base/memory.h"

int sbn__parallel_is_joined(const sbn_parallel *parallel)
{
    return parallel->own && parallel->own->joined;
}

int sbn__parallel_rank(const sbn_parallel *parallel)
{
    return parallel->ranks[sbn_group_rank(parallel->own)];
}

void sbn__parallel_name_ranks(const sbn_parallel *parallel, const unsigned char *chosen, char *out,
                              size_t size)
{
    enum { MORE = 24 }; /* room for the last words */
    const int world_size = sbn_group_world_size(parallel->own);
    int left = 0, first = 1;
    size_t used = 0;
    for (int member = 0; member < world_size; ++member)
        left += chosen[member] != 0;
    used = (size_t)snprintf(out, size, left > 1 ? "ranks" : "rank");
    for (int member = 0; member < world_size && left > 0; ++member) {
        if (!chosen[member])
            continue;
        if (used + MORE > size) {
            snprintf(out + used, size - used, " and %d more", left);
            return;
        }
        used += (size_t)snprintf(out + used, size - used, first ? " %d" : ", %d",
                                 parallel->ranks[member]);
        first = 0;
        --left;
    }
}

void sbn__parallel_name_missing(const sbn_parallel *parallel, void *request, char *out, size_t size)
{
    const sbn_transport *transport = &parallel->own->transport;
    const size_t world_size = (size_t)transport->world_size;
    int *members = sbn__allocate(sizeof *members * world_size), count = -1;
    unsigned char *chosen = sbn__allocate(world_size);
    if (members && chosen && request && transport->missing)
        count = transport->missing(transport->context, request, members);
    for (int i = 0; i < count; ++i)
        chosen[members[i]] = 1;
    if (count > 0)
        sbn__parallel_name_ranks(parallel, chosen, out, size);
    else
        snprintf(out, size, count ? "the other ranks" : "a sum that all ranks have begun");
    sbn__free(members);
    sbn__free(chosen);
}

void sbn__parallel_fail_transport(sbn_parallel *parallel, int code, const char *what)
{
    const char *reason = sbn_last_error();
    sbn__fail(SBN_TRANSPORT_ERROR, "rank %d: the transport's %s returned %d%s%s",
              sbn__parallel_rank(parallel), what, code, *reason ? ": " : "", reason);
    sbn__group_fail(parallel->own, SBN_TRANSPORT_ERROR);
    parallel->own->unreachable = 1;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Adds *words over the ranks and waits. What a timeout leaves in flight is no longer ours. */
static int add(sbn_parallel *parallel, int64_t **words, size_t count)
{
    const sbn_group *own = parallel->own;
    const sbn_transport *transport = &own->transport;
    const double since = seconds();
    void *request = NULL;
    int done = 0;
    sbn__error_clear();
    int code = transport->start(transport->context, SBN_TAG_WORDS, *words, count, &request);
    if (code) {
        sbn__parallel_fail_transport(parallel, code, "start");
        return SBN_TRANSPORT_ERROR;
    }
    while (!done) {
        code = transport->test(transport->context, request, &done);
        if (code || (!done && seconds() - since > own->timeout))
            break;
        sched_yield();
    }
    if (done)
        return SBN_SUCCESS;
    *words = NULL;
    if (code) {
        sbn__parallel_fail_transport(parallel, code, "test");
        return SBN_TRANSPORT_ERROR;
    }
    char missing[128];
    sbn__parallel_name_missing(parallel, request, missing, sizeof missing);
    return sbn__fail(SBN_TIMEOUT, "rank %d waited %g s in sbn_parallel_create for %s",
                     sbn__parallel_rank(parallel), own->timeout, missing);
}

/* Every rank's rank in the group, its replicas, and whether its memory suffices. */
enum { RANK, REPLICAS, FAILED, MEMBER_WORDS };

/* Who the ranks are. `status`: this rank cannot go on, and the others are to know. */
static int meet(sbn_parallel *parallel, int rank, int status)
{
    const sbn_group *own = parallel->own;
    const int world_size = sbn_group_world_size(own), self = sbn_group_rank(own);
    int64_t *words = sbn__allocate(sizeof *words * (size_t)world_size * MEMBER_WORDS);
    /* Nobody waits without a deadline: the others will name this rank. */
    if (!words || !parallel->ranks) {
        sbn__free(words);
        return sbn__fail_memory("exchanges of tensors");
    }
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    int64_t *mine = words + (size_t)self * MEMBER_WORDS;
    mine[RANK] = parallel->ranks[self] = rank;
    mine[REPLICAS] = (int64_t)own->replica_count;
    mine[FAILED] = status;
    const int met = own->joined ? add(parallel, &words, (size_t)world_size * MEMBER_WORDS)
                                : SBN_SUCCESS;
    int remote = SBN_SUCCESS;
    for (int member = 0; member < world_size && !met; ++member) {
        const int64_t *its = words + (size_t)member * MEMBER_WORDS;
        parallel->ranks[member] = (int)its[RANK];
        if (member == self)
            parallel->first = parallel->replicas;
        parallel->replicas += (size_t)its[REPLICAS];
        if (its[FAILED] && !remote)
            remote = sbn__fail(SBN_REMOTE_ERROR,
                               "rank %d called sbn_parallel_create and reported %s", (int)its[RANK],
                               sbn_strerror((int)its[FAILED]));
    }
    sbn__free(words);
    if (status)
        return sbn__fail(status, "%s", sentence);
    if (met || remote)
        return met ? met : remote;
    if (parallel->replicas > SBN_MAX_REPLICAS)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: at most %d replicas were expected over all ranks, %zu came",
                         SBN_MAX_REPLICAS, parallel->replicas);
    return SBN_SUCCESS;
}

/* All replicas in one part. */
static int split(sbn_group *group, sbn_group **own)
{
    int *colours = sbn__allocate(sizeof *colours * group->replica_count);
    sbn_group **parts = sbn__allocate(sizeof(sbn_group *) * group->replica_count);
    /* With NULL the split tells the others. */
    int status = sbn_group_split(group, colours, parts);
    if (!colours || !parts)
        status = sbn__fail_memory("exchanges of tensors");
    *own = !status && group->replica_count > 0 ? parts[0] : NULL;
    sbn__free(colours);
    sbn__free(parts);
    return status;
}

static int check_config(const sbn_parallel_config *config)
{
    const size_t least = sizeof(float) * SBN_AVERAGE_BLOCK, most = (size_t)1 << 30;
    if (config->size != sizeof *config)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "config: size %zu was expected, %zu came; start from SBN_PARALLEL_CONFIG_INIT",
            sizeof *config, config->size);
    if (config->bucket_bytes < least || config->bucket_bytes > most)
        return sbn__fail(SBN_INVALID_ARGUMENT, "bucket_bytes: %zu to %zu was expected, %zu came",
                         least, most, config->bucket_bytes);
    return SBN_SUCCESS;
}

/* Takes over `own`, which may be NULL. */
static int fill(sbn_parallel *made, int rank, const sbn_parallel_config *config)
{
    const sbn_group *own = made->own;
    int status = check_config(config);
    made->bucket_floats = config->bucket_bytes / sizeof(float);
    if (!own)
        return status;
    made->ranks = sbn__allocate(sizeof *made->ranks * (size_t)sbn_group_world_size(own));
    for (int i = 0; i < SBN_BUCKETS && !status; ++i)
        status = sbn__bucket_open(&made->buckets[i], own->replica_count);
    if (!status)
        status = sbn__exchange_prepare(made);
    return meet(made, rank, status);
}

static void free_parallel(sbn_parallel *parallel)
{
    while (parallel->idle) {
        sbn_exchange *e = parallel->idle;
        parallel->idle = e->next_idle;
        sbn__exchange_free(e);
    }
    for (int i = 0; i < SBN_BUCKETS && parallel->own; ++i)
        sbn__bucket_close(&parallel->buckets[i], parallel->own->replica_count);
    if (parallel->own)
        sbn__group_free(parallel->own);
    sbn__free(parallel->ranks);
    sbn__object_remove(&parallel->object);
    sbn__free(parallel);
}

int sbn_parallel_create(sbn_group *group, const sbn_parallel_config *config,
                        sbn_parallel **parallel)
{
    static const sbn_parallel_config standard = SBN_PARALLEL_CONFIG_INIT;
    sbn__error_clear();
    if (!parallel)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "parallel: a place for the handle was expected, NULL came");
    *parallel = NULL;
    int status = sbn__check_handle(group, SBN_HANDLE_GROUP, "group");
    sbn_group *own = NULL;
    if (!status)
        status = split(group, &own);
    if (status)
        return status;
    sbn_parallel *made = sbn__allocate(sizeof *made);
    if (!made) {
        if (own)
            sbn__group_free(own);
        return sbn__fail_memory("exchanges of tensors");
    }
    sbn__object_add(&made->object, SBN_HANDLE_PARALLEL);
    made->own = own;
    status = fill(made, sbn_group_rank(group), config ? config : &standard);
    if (status) {
        char sentence[SBN_SENTENCE_SIZE];
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
        free_parallel(made);
        return sbn__fail(status, "%s", sentence);
    }
    *parallel = made;
    return SBN_SUCCESS;
}

int sbn_parallel_destroy(sbn_parallel *parallel)
{
    const int status = parallel ? sbn__check_handle(parallel, SBN_HANDLE_PARALLEL, "parallel")
                                : SBN_SUCCESS;
    if (!parallel || status)
        return status;
    if (parallel->under_way_count > 0)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "parallel: expected no exchange under way, got %zu; end them, then destroy "
            "it",
            parallel->under_way_count);
    free_parallel(parallel);
    return SBN_SUCCESS;
}

size_t sbn_parallel_replicas(const sbn_parallel *parallel)
{
    return sbn__object_is(parallel, SBN_HANDLE_PARALLEL) ? parallel->replicas : 0;
}

size_t sbn_parallel_first(const sbn_parallel *parallel)
{
    return sbn__object_is(parallel, SBN_HANDLE_PARALLEL) ? parallel->first : 0;
}
