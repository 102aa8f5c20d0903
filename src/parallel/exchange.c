/* The public functions of exchanges. */
#include <stdio.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/versioned_struct.h"
#include "parallel/bucket.h"
#include "parallel/exchange_pool.h"
#include "parallel/header.h"
#include "parallel/move.h"
#include "parallel/tensors.h"

/* The digest of what the ranks must agree on, and the name for sentences. */
static void describe(sbn_exchange *e)
{
    const uint64_t settings[] = {(uint64_t)e->averages, e->root, e->parallel->bucket_floats};
    uint64_t digest = sbn__digest(SBN_DIGEST_START, settings, sizeof settings);
    e->floats = 0;
    for (size_t t = 0; e->counts && t < e->tensors; ++t) {
        const uint64_t count = e->counts[t];
        digest = sbn__digest(digest, &count, sizeof count);
        e->floats += count;
    }
    e->digest = digest;
    sbn__exchange_describe(e->averages, e->tensors, e->floats, e->name, sizeof e->name);
}

static void open_exchange(sbn_exchange *e, const sbn_exchange *asked)
{
    e->averages = asked->averages;
    e->root = asked->root;
    e->counts = asked->counts;
    e->tensors = asked->tensors;
    e->replicas = asked->replicas;
    e->ended = 0;
    e->stage = e->parallel->replica_count > 0 ? SBN_HEADER : SBN_SETTLED;
    e->tensor = e->first = e->buckets = 0;
    e->status = SBN_SUCCESS;
    describe(e);
}

/* Reserves the idle buckets' memory, and enqueues markers that the copies wait for. */
static int prepare(sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    int status = sbn__exchange_check_tensors(e);
    for (size_t i = 0; i < SBN_BUCKETS && !status && parallel->total > 1; ++i)
        if (parallel->buckets[i].stage == SBN_BUCKET_IDLE)
            status = sbn__bucket_reserve(&parallel->buckets[i], e);
    for (size_t r = 0; r < e->parallel->replica_count && !status; ++r) {
        sbn_replica *replica = &parallel->replicas[r];
        const sbn_tensors its = sbn__tensors_at(e, r);
        status = sbn__marker(replica, its.num_wait, its.wait_list, &e->ready[r]);
        if (!status)
            status = sbn__flush(replica);
    }
    return status;
}

/* The place for a replica's event; NULL if there is none or the caller's structs cannot be read. */
static cl_event *event_of(const sbn_data_parallel *parallel, const sbn_tensors *replicas, size_t r)
{
    sbn_tensors its;
    if (!replicas || !sbn__struct_is_valid(replicas, parallel->replica_count, sizeof *replicas))
        return NULL;
    sbn__struct_get(&its, sizeof its, replicas, r);
    return its.event;
}

static void forget_events(const sbn_data_parallel *parallel, const sbn_tensors *replicas)
{
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        cl_event *event = event_of(parallel, replicas, r);
        if (event)
            *event = NULL;
    }
}

/* `asked` has the arguments. */
static int begin(sbn_data_parallel *parallel, const sbn_exchange *asked, sbn_exchange **begun)
{
    sbn__error_clear();
    if (!begun)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "exchange: expected a place for the handle, got NULL");
    *begun = NULL;
    int status = sbn__check_handle(parallel, SBN_HANDLE_PARALLEL, "parallel");
    if (status)
        return status;
    forget_events(parallel, asked->replicas);
    status = sbn__parallel_check_state(parallel);
    sbn_communicator *c = &parallel->communicator;
    const int joined = sbn__communicator_is_joined(c);
    if (status && (!joined || c->dead || parallel->under_way_count == SBN_MAX_PASSES))
        return status;
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    sbn_exchange *e = NULL;
    const int acquired = sbn__exchange_acquire(parallel, &e);
    /* The other ranks cannot be told of this error: the communicator is dead. */
    if (acquired)
        return joined ? sbn__communicator_die_of_memory(c, "an exchange of tensors") : acquired;
    open_exchange(e, asked);
    parallel->under_way[parallel->under_way_count++] = e;
    if (!status && parallel->replica_count > 0) {
        status = prepare(e);
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    }
    e->error = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", sentence);
    if (joined || (parallel->replica_count > 0 && !status))
        sbn__exchange_start(e);
    if (joined && status)
        sbn__exchange_wait(e);
    if (status) {
        sbn__exchange_release(e);
        return sbn__fail(status, "%s", sentence);
    }
    /* Starts the first copies. */
    sbn__parallel_progress(parallel);
    sbn__error_clear();
    *begun = e;
    return SBN_SUCCESS;
}

int sbn_broadcast_begin(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                        size_t root, const sbn_tensors *replicas, sbn_exchange **exchange)
{
    const sbn_exchange asked = {.root = root,
                                .counts = counts,
                                .tensors = tensors,
                                .replicas = replicas};
    return begin(parallel, &asked, exchange);
}

int sbn_average_gradients_begin(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                                const sbn_tensors *replicas, sbn_exchange **exchange)
{
    const sbn_exchange asked = {.averages = 1,
                                .counts = counts,
                                .tensors = tensors,
                                .replicas = replicas};
    return begin(parallel, &asked, exchange);
}

int sbn_exchange_progress(sbn_exchange *e, int *ready)
{
    sbn__error_clear();
    const int status = sbn__exchange_check_under_way(e);
    if (status)
        return status;
    sbn__parallel_progress(e->parallel);
    if (ready)
        *ready = e->stage == SBN_SETTLED;
    sbn__error_clear();
    return SBN_SUCCESS;
}

/* Commands enqueued from now on run after the copies. */
static int hand_over(const sbn_exchange *e)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < e->parallel->replica_count && !status; ++r) {
        sbn_replica *replica = &e->parallel->replicas[r];
        const sbn_tensors its = sbn__tensors_at(e, r);
        cl_event event = NULL;
        status = sbn__marker(replica, e->written[r] ? 1 : 0, e->written[r] ? &e->written[r] : NULL,
                             &event);
        if (!status && its.event) {
            *its.event = event;
            sbn__handle_closed();
        } else {
            sbn__release_event(&event);
        }
        if (!status)
            status = sbn__flush(replica);
    }
    return status;
}

static void withdraw_events(const sbn_exchange *e)
{
    for (size_t r = 0; r < e->parallel->replica_count; ++r) {
        cl_event *event = event_of(e->parallel, e->replicas, r);
        if (event && *event) {
            clReleaseEvent(*event);
            *event = NULL;
        }
    }
}

/* No marker keeps the caller's next commands behind copies of an exchange that has failed. */
static void wait_for_copies(const sbn_exchange *e)
{
    for (size_t r = 0; r < e->parallel->replica_count; ++r)
        if (e->written[r])
            clWaitForEvents(1, &e->written[r]);
}

int sbn_exchange_end(sbn_exchange *e)
{
    sbn__error_clear();
    int status = sbn__exchange_check_under_way(e);
    if (status)
        return status;
    const sbn_communicator *c = &e->parallel->communicator;
    sbn__exchange_wait(e);
    sbn__error_clear();
    if (e->status) {
        status = sbn__fail(e->status, "%s", e->sentence);
    } else if (c->status && !c->dead) {
        /* A copy to a device failed, of this exchange or of another one. */
        status = sbn__fail(c->status, "%s", c->reason);
    } else {
        status = hand_over(e);
        if (status) {
            withdraw_events(e);
            sbn__communicator_fail(&e->parallel->communicator, status);
        }
    }
    if (status)
        wait_for_copies(e);
    sbn__exchange_release(e);
    return status;
}

int sbn_broadcast(sbn_data_parallel *parallel, const size_t *counts, size_t tensors, size_t root,
                  const sbn_tensors *replicas)
{
    sbn_exchange *exchange;
    const int status = sbn_broadcast_begin(parallel, counts, tensors, root, replicas, &exchange);
    return status ? status : sbn_exchange_end(exchange);
}

int sbn_average_gradients(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                          const sbn_tensors *replicas)
{
    sbn_exchange *exchange;
    const int status = sbn_average_gradients_begin(parallel, counts, tensors, replicas, &exchange);
    return status ? status : sbn_exchange_end(exchange);
}
