/* The public calls: what comes in is taken up, what goes out handed over. */
#include <stdio.h>
#include <string.h>

#include "parallel/bucket.h"
#include "parallel/tensors.h"
#include "base/digest.h"
#include "base/memory.h"
#include "parallel/header.h"
#include "parallel/move.h"

/* An ended exchange, or a new one. */
static int acquire(sbn_parallel *parallel, sbn_exchange **found)
{
    const size_t replicas = parallel->own ? parallel->own->replica_count : 0;
    const size_t words = parallel->own ? sbn__exchange_header_words(parallel) : 0;
    sbn_exchange *e = parallel->idle;
    if (!e) {
        e = sbn__allocate(sizeof *e);
        if (!e)
            return sbn__fail_memory("an exchange of tensors");
        sbn__object_add(&e->object, SBN_HANDLE_EXCHANGE);
        e->parallel = parallel;
        e->ended = 1;
        parallel->idle = e;
    }
    if (!e->ready)
        e->ready = sbn__allocate(sizeof(cl_event) * replicas);
    if (!e->written)
        e->written = sbn__allocate(sizeof(cl_event) * replicas);
    if (!e->header)
        e->header = sbn__allocate(sizeof *e->header * words);
    if (!e->ready || !e->written || !e->header)
        return sbn__fail_memory("an exchange of tensors");
    parallel->idle = e->next_idle;
    *found = e;
    return SBN_SUCCESS;
}

int sbn__exchange_prepare(sbn_parallel *parallel)
{
    sbn_exchange *e;
    const int status = acquire(parallel, &e);
    if (status)
        return status;
    e->next_idle = parallel->idle;
    parallel->idle = e;
    return SBN_SUCCESS;
}

void sbn__exchange_free(sbn_exchange *e)
{
    sbn__free(e->ready);
    sbn__free(e->written);
    sbn__free(e->header);
    sbn__object_remove(&e->object);
    sbn__free(e);
}

static void release(sbn_exchange *e)
{
    sbn_parallel *parallel = e->parallel;
    size_t i = 0;
    while (i < parallel->under_way_count && parallel->under_way[i] != e)
        ++i;
    if (i < parallel->under_way_count) {
        --parallel->under_way_count;
        memmove(parallel->under_way + i, parallel->under_way + i + 1,
                sizeof(sbn_exchange *) * (parallel->under_way_count - i));
    }
    for (size_t r = 0; r < sbn__exchange_replicas(e); ++r) {
        sbn__release_event(&e->ready[r]);
        sbn__release_event(&e->written[r]);
    }
    e->ended = 1;
    e->next_idle = parallel->idle;
    parallel->idle = e;
}

/* What the ranks must agree on, in numbers and words. */
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
    e->stage = e->parallel->own ? SBN_HEADER : SBN_SETTLED;
    e->request = NULL;
    e->tensor = e->first = e->buckets = 0;
    e->status = SBN_SUCCESS;
    describe(e);
}

/* Memory where it is not in use, and markers behind what the copies wait for. */
static int prepare(sbn_exchange *e)
{
    sbn_parallel *parallel = e->parallel;
    int status = sbn__exchange_check_tensors(e);
    for (size_t i = 0; i < SBN_BUCKETS && !status && parallel->replicas > 1; ++i)
        if (parallel->buckets[i].stage == SBN_BUCKET_IDLE)
            status = sbn__bucket_reserve(&parallel->buckets[i], e);
    for (size_t r = 0; r < sbn__exchange_replicas(e) && !status; ++r) {
        sbn_replica *replica = &parallel->own->replicas[r];
        status = sbn__marker(replica, e->replicas[r].num_wait, e->replicas[r].wait_list,
                             &e->ready[r]);
        if (!status)
            status = sbn__flush(replica);
    }
    return status;
}

static void forget_events(const sbn_parallel *parallel, const sbn_tensors *replicas)
{
    for (size_t r = 0; parallel->own && replicas && r < parallel->own->replica_count; ++r)
        if (replicas[r].event)
            *replicas[r].event = NULL;
}

/* `asked` has what is asked for. */
static int begin(sbn_parallel *parallel, const sbn_exchange *asked, sbn_exchange **begun)
{
    sbn__error_clear();
    if (!begun)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "exchange: a place for the handle was expected, NULL came");
    *begun = NULL;
    int status = sbn__check_handle(parallel, SBN_HANDLE_PARALLEL, "parallel");
    if (status)
        return status;
    forget_events(parallel, asked->replicas);
    status = sbn__parallel_check_state(parallel);
    const int joined = sbn__parallel_is_joined(parallel);
    if (status &&
        (!joined || parallel->own->unreachable || parallel->under_way_count == SBN_MAX_PASSES))
        return status;
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    sbn_exchange *e = NULL;
    const int acquired = acquire(parallel, &e);
    if (acquired) {
        /* The others cannot learn of it: from here on this rank is out of step. */
        if (joined) {
            sbn__group_fail(parallel->own, acquired);
            parallel->own->unreachable = 1;
        }
        return acquired;
    }
    open_exchange(e, asked);
    parallel->under_way[parallel->under_way_count++] = e;
    if (!status && parallel->own) {
        status = prepare(e);
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    }
    e->error = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", sentence);
    if (joined || (parallel->own && !status))
        sbn__exchange_start(e);
    if (joined && status)
        sbn__exchange_wait(e);
    if (status) {
        release(e);
        return sbn__fail(status, "%s", sentence);
    }
    /* The first copies, at once. */
    sbn__parallel_move(parallel);
    sbn__error_clear();
    *begun = e;
    return SBN_SUCCESS;
}

int sbn_broadcast_begin(sbn_parallel *parallel, const size_t *counts, size_t tensors, size_t root,
                        const sbn_tensors *replicas, sbn_exchange **exchange)
{
    const sbn_exchange asked = {.root = root,
                                .counts = counts,
                                .tensors = tensors,
                                .replicas = replicas};
    return begin(parallel, &asked, exchange);
}

int sbn_average_gradients_begin(sbn_parallel *parallel, const size_t *counts, size_t tensors,
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
    if (e->parallel->own)
        sbn__parallel_move(e->parallel);
    if (ready)
        *ready = e->stage == SBN_SETTLED;
    sbn__error_clear();
    return SBN_SUCCESS;
}

/* What the caller's queue gets from now on comes behind the copies. */
static int hand_over(const sbn_exchange *e)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < sbn__exchange_replicas(e) && !status; ++r) {
        sbn_replica *replica = &e->parallel->own->replicas[r];
        const sbn_tensors *its = &e->replicas[r];
        cl_event event = NULL;
        status = sbn__marker(replica, e->written[r] ? 1 : 0, e->written[r] ? &e->written[r] : NULL,
                             &event);
        if (!status && its->event) {
            *its->event = event;
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
    for (size_t r = 0; r < sbn__exchange_replicas(e); ++r) {
        cl_event *event = e->replicas[r].event;
        if (event && *event) {
            clReleaseEvent(*event);
            *event = NULL;
        }
    }
}

int sbn_exchange_end(sbn_exchange *e)
{
    sbn__error_clear();
    int status = sbn__exchange_check_under_way(e);
    if (status)
        return status;
    if (e->parallel->own)
        sbn__exchange_wait(e);
    sbn__error_clear();
    if (e->status) {
        status = sbn__fail(e->status, "%s", e->sentence);
    } else if (e->parallel->own && e->parallel->own->failed && !e->parallel->own->unreachable) {
        /* A copy to a device has failed: of this exchange, or of one beside it. */
        status = sbn__fail(e->parallel->own->failed, "%s", e->parallel->own->reason);
    } else {
        status = hand_over(e);
        if (status) {
            withdraw_events(e);
            sbn__group_fail(e->parallel->own, status);
        }
    }
    release(e);
    return status;
}

int sbn_broadcast(sbn_parallel *parallel, const size_t *counts, size_t tensors, size_t root,
                  const sbn_tensors *replicas)
{
    sbn_exchange *exchange;
    const int status = sbn_broadcast_begin(parallel, counts, tensors, root, replicas, &exchange);
    return status ? status : sbn_exchange_end(exchange);
}

int sbn_average_gradients(sbn_parallel *parallel, const size_t *counts, size_t tensors,
                          const sbn_tensors *replicas)
{
    sbn_exchange *exchange;
    const int status = sbn_average_gradients_begin(parallel, counts, tensors, replicas, &exchange);
    return status ? status : sbn_exchange_end(exchange);
}
