#include "parallel/exchange.h"

#include <stdio.h>

#include "base/digest.h"
#include "base/memory.h"
#include "parallel/bucket.h"
#include "parallel/check.h"
#include "parallel/move.h"

/* --- memory: ended exchanges are kept for theirs ------------------------------------- */

static void free_exchange(sbn_exchange *e)
{
    sbn__free(e->ready);
    sbn__free(e->written);
    sbn__request_free(&e->header);
    sbn__object_remove(&e->object);
    sbn__free(e);
}

static void keep(sbn_exchange *e)
{
    e->stage = SBN_ENDED;
    e->next_idle = e->parallel->idle;
    e->parallel->idle = e;
}

int sbn__exchanges_prepare(sbn_data_parallel *parallel)
{
    const size_t replicas = parallel->replica_count;
    sbn_exchange *e = sbn__allocate(sizeof *e);
    if (!e)
        return sbn__fail_memory("an exchange of tensors");
    sbn__object_add(&e->object, SBN_HANDLE_EXCHANGE);
    e->parallel = parallel;
    e->ready = sbn__allocate(sizeof(cl_event) * replicas);
    e->written = sbn__allocate(sizeof(cl_event) * replicas);
    const int status = e->ready && e->written
                           ? sbn__request_reserve(&e->header, sbn__exchange_header_words(parallel),
                                                  "an exchange of tensors")
                           : sbn__fail_memory("an exchange of tensors");
    if (status)
        free_exchange(e);
    else
        keep(e);
    return status;
}

void sbn__exchanges_free(sbn_data_parallel *parallel)
{
    while (parallel->idle) {
        sbn_exchange *e = parallel->idle;
        parallel->idle = e->next_idle;
        free_exchange(e);
    }
}

/* Removes it from those under way, and keeps its memory. */
static void release(sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    size_t left = 0;
    for (size_t i = 0; i < parallel->under_way_count; ++i)
        if (parallel->under_way[i] != e)
            parallel->under_way[left++] = parallel->under_way[i];
    parallel->under_way_count = left;
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        sbn__release_event(&e->ready[r]);
        sbn__release_event(&e->written[r]);
    }
    keep(e);
}

/* --- the caller's events ----------------------------------------------------------------- */

/*
 * Enqueues markers behind the copies, or where there are none behind what these would wait for, so that commands
 * enqueued from now on run after them, and gives the caller's events. After an error no event is left.
 */
static int hand_over(const sbn_exchange *e)
{
    int status = SBN_SUCCESS, done;
    for (size_t r = 0; r < e->parallel->replica_count && !status; ++r) {
        sbn_replica *replica = &e->parallel->replicas[r];
        const sbn_tensors its = sbn__tensors_at(e, r);
        const cl_event *last = e->written[r] ? &e->written[r] : &e->ready[r];
        cl_event event = NULL;
        status = sbn__event_done(replica, *last, &done);
        if (!status)
            status = sbn__marker(replica, 1, last, &event);
        if (!status)
            sbn__give_event(its.event, &event);
        sbn__release_event(&event);
        if (!status)
            status = sbn__flush(replica);
    }
    if (status)
        sbn__withdraw_events(e->replicas, e->parallel->replica_count, SBN_EVENTS(sbn_tensors));
    return status;
}

/* --- the beginning --------------------------------------------------------------------- */

static void open_exchange(sbn_exchange *e, const sbn_exchange *asked)
{
    e->averages = asked->averages;
    e->root = asked->root;
    e->counts = asked->counts;
    e->tensors = asked->tensors;
    e->replicas = asked->replicas;
    e->stage = SBN_HEADER;
    e->tensor = e->first = e->buckets = 0;
    e->status = SBN_SUCCESS;
    const uint64_t settings[] = {(uint64_t)e->averages, e->root, e->parallel->bucket_floats};
    e->digest = sbn__digest(SBN_DIGEST_START, settings, sizeof settings);
    e->floats = 0;
    for (size_t t = 0; e->counts && t < e->tensors; ++t) {
        const uint64_t count = e->counts[t];
        e->digest = sbn__digest(e->digest, &count, sizeof count);
        e->floats += count;
    }
    sbn__exchange_describe(e->averages, e->tensors, e->floats, e->name, sizeof e->name);
}

/* Reserves the idle buckets' memory, and enqueues markers that the copies wait for. */
static int prepare(sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    int status = sbn__tensors_check(e);
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

/* `asked` has the arguments. */
static int begin(sbn_data_parallel *parallel, const sbn_exchange *asked, sbn_exchange **begun)
{
    if (begun)
        *begun = NULL;
    int status = sbn__enter(parallel, SBN_HANDLE_PARALLEL, "parallel");
    if (status)
        return status;
    sbn__forget_events(asked->replicas, parallel->replica_count, SBN_EVENTS(sbn_tensors));
    if (!begun)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "exchange: expected a place for the handle, got NULL");
    if (parallel->under_way_count == SBN_MAX_PASSES)
        return sbn__fail(SBN_INVALID_ARGUMENT, "at most %d exchanges may be under way",
                         SBN_MAX_PASSES);
    sbn_communicator *c = &parallel->communicator;
    status = sbn__communicator_check(c, "an exchange");
    const int end = status && c->dead ? status : sbn__parallel_check_group(parallel->group);
    if (end)
        return end;
    /* One is left: without memory for another it tells the other ranks so. */
    if (!status && !(parallel->idle && parallel->idle->next_idle))
        status = sbn__exchanges_prepare(parallel);
    sbn_exchange *e = parallel->idle;
    if (!e)
        return status;
    parallel->idle = e->next_idle;
    open_exchange(e, asked);
    parallel->under_way[parallel->under_way_count++] = e;
    if (!status && parallel->replica_count > 0)
        status = prepare(e);
    e->error = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", sbn_last_error());
    sbn__exchange_start(e);
    if (status) {
        if (sbn__communicator_is_joined(c))
            sbn__exchange_wait(e);
        release(e);
        return sbn__fail(status, "%s", e->sentence);
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

/* --- the end ---------------------------------------------------------------------------- */

static int check_under_way(const sbn_exchange *e)
{
    const int status = sbn__enter(e, SBN_HANDLE_EXCHANGE, "exchange");
    if (!status && e->stage == SBN_ENDED)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "exchange: expected an exchange under way, got an ended one");
    return status;
}

int sbn_exchange_progress(sbn_exchange *e, int *ready)
{
    const int status = check_under_way(e);
    if (status)
        return status;
    sbn__parallel_progress(e->parallel);
    if (ready)
        *ready = e->stage == SBN_SETTLED;
    sbn__error_clear();
    return SBN_SUCCESS;
}

int sbn_exchange_end(sbn_exchange *e)
{
    int status = check_under_way(e);
    if (status)
        return status;
    sbn_data_parallel *parallel = e->parallel;
    sbn__exchange_wait(e);
    sbn__error_clear();
    if (e->status) {
        status = sbn__fail(e->status, "%s", e->sentence);
    } else if (parallel->unwritten) {
        /* A copy to a device failed, of this exchange or of another one. */
        status = sbn__fail(parallel->unwritten, "%s", parallel->reason);
    } else {
        status = hand_over(e);
        if (status && parallel->total > 1 && e->floats > 0)
            sbn__parallel_unwritten(parallel, status);
    }
    /* No marker keeps the caller's next commands, and the release of its tensors, behind copies that are left. */
    if (status)
        sbn__copies_wait(e->written, parallel->replica_count);
    for (int i = 0; i < SBN_BUCKETS && status; ++i)
        if (parallel->buckets[i].exchange == e)
            sbn__copies_wait(parallel->buckets[i].copied, parallel->replica_count);
    release(e);
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
