#include "parallel/move.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "parallel/bucket.h"
#include "parallel/header.h"

static void settle(sbn_exchange *e, int status)
{
    e->stage = SBN_SETTLED;
    e->status = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", status ? sbn_last_error() : "");
    ++e->parallel->moves;
}

/* The transport is dead: nothing under way will end, and words in flight are no longer ours. */
static void give_up(sbn_parallel *parallel, int status)
{
    for (size_t i = 0; i < SBN_BUCKETS; ++i) {
        sbn_bucket *bucket = &parallel->buckets[i];
        if (bucket->stage == SBN_BUCKET_LEVELS && bucket->request)
            bucket->levels = NULL;
        if (bucket->stage == SBN_BUCKET_SUMS && bucket->request)
            bucket->sums = NULL;
        bucket->request = NULL;
        if (bucket->stage != SBN_BUCKET_IDLE)
            bucket->stage = SBN_BUCKET_WRITING;
    }
    for (size_t i = 0; i < parallel->under_way_count; ++i) {
        sbn_exchange *e = parallel->under_way[i];
        if (e->stage == SBN_SETTLED)
            continue;
        if (e->request)
            e->header = NULL;
        e->request = NULL;
        /* One that only told of an error of this rank has that error. */
        if (e->error)
            sbn__fail(e->error, "%s", e->sentence);
        else
            sbn__fail(status, "%s", parallel->own->reason);
        settle(e, e->error ? e->error : status);
    }
}

static void fail_transport(sbn_parallel *parallel, int code, const char *what)
{
    sbn__parallel_fail_transport(parallel, code, what);
    give_up(parallel, SBN_TRANSPORT_ERROR);
}

/* 0 if the transport broke. A rank alone has its sum at once. */
static int start(sbn_parallel *parallel, int stream, int64_t *words, size_t count, void **request)
{
    const sbn_transport *transport = &parallel->own->transport;
    ++parallel->moves;
    *request = NULL;
    if (!parallel->own->joined)
        return 1;
    sbn__error_clear();
    const int code = transport->start(transport->context, stream, words, count, request);
    if (!code)
        return 1;
    *request = NULL;
    fail_transport(parallel, code, "start");
    return 0;
}

/* 1 when the sum is there. */
static int arrived(sbn_parallel *parallel, void **request)
{
    const sbn_transport *transport = &parallel->own->transport;
    int done = 1;
    if (*request) {
        sbn__error_clear();
        const int code = transport->test(transport->context, *request, &done);
        if (code) {
            fail_transport(parallel, code, "test");
            return 0;
        }
    }
    if (!done)
        return 0;
    *request = NULL;
    ++parallel->moves;
    return 1;
}

void sbn__exchange_start(sbn_exchange *e)
{
    if (e->parallel->own->joined)
        sbn__exchange_header_fill(e, e->header);
    start(e->parallel, SBN_TAG_HEADER, e->header, sbn__exchange_header_words(e->parallel),
          &e->request);
}

static void leave_header(sbn_exchange *e)
{
    if (!arrived(e->parallel, &e->request))
        return;
    const int status = e->parallel->own->joined ? sbn__exchange_header_read(e, e->header)
                                                : SBN_SUCCESS;
    if (status)
        settle(e, status);
    else
        e->stage = SBN_MOVING;
}

/* This rank cannot go on: the others hear of it with the next levels. */
static void keep_error(sbn_exchange *e, int status)
{
    if (!status || e->error)
        return;
    e->error = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", sbn_last_error());
}

/* Are there buckets to come? One replica has nobody to give to. */
static int remains(const sbn_exchange *e)
{
    return e->floats > 0 && e->parallel->replicas > 1 && e->tensor < e->tensors;
}

static void open_bucket(sbn_parallel *parallel, sbn_exchange *e)
{
    sbn_bucket *bucket = &parallel->buckets[(parallel->oldest + parallel->busy) % SBN_BUCKETS];
    sbn__bucket_cut(bucket, e);
    ++parallel->busy;
    ++parallel->moves;
    ++e->buckets;
    bucket->stage = SBN_BUCKET_READING;
    keep_error(e, sbn__bucket_reserve(bucket, e));
    if (bucket->levels_size < sbn__status_words(parallel) + sbn__bucket_level_words(bucket)) {
        /* Not even room to tell the others. */
        fail_transport(parallel, SBN_OUT_OF_MEMORY, "memory");
        return;
    }
    if (!e->error && !e->status)
        keep_error(e, sbn__bucket_read(bucket));
}

/* The oldest exchange that has something left takes what buckets are idle. */
static void open_buckets(sbn_parallel *parallel)
{
    for (size_t i = 0; i < parallel->under_way_count; ++i) {
        sbn_exchange *e = parallel->under_way[i];
        while (e->stage == SBN_MOVING && remains(e) && parallel->busy < SBN_BUCKETS)
            open_bucket(parallel, e);
        if (e->stage == SBN_HEADER || (e->stage == SBN_MOVING && remains(e)))
            return;
    }
}

static void leave_reading(sbn_parallel *parallel, sbn_bucket *bucket)
{
    sbn_exchange *e = bucket->exchange;
    int done = 1;
    if (!e->error && !e->status)
        keep_error(e, sbn__bucket_copied(bucket, parallel, &done));
    if (!e->error && !done)
        return;
    const size_t statuses = sbn__status_words(parallel);
    const size_t words = statuses + sbn__bucket_level_words(bucket);
    memset(bucket->levels, 0, sizeof *bucket->levels * words);
    if (e->error)
        sbn__status_fill(parallel, e->error, bucket->levels);
    else if (!e->status)
        sbn__bucket_fill_levels(bucket, bucket->levels + statuses);
    if (start(parallel, SBN_TAG_REPEAT, bucket->levels, words, &bucket->request))
        bucket->stage = SBN_BUCKET_LEVELS;
}

/* Only copies of the bucket may be left. */
static void leave_exchange(sbn_bucket *bucket)
{
    --bucket->exchange->buckets;
    bucket->stage = SBN_BUCKET_WRITING;
    bucket->exchange = NULL;
}

static void leave_levels(sbn_parallel *parallel, sbn_bucket *bucket)
{
    sbn_exchange *e = bucket->exchange;
    if (!arrived(parallel, &bucket->request))
        return;
    const int status = sbn__status_read(e, bucket->levels);
    if (status && !e->status) {
        e->status = status;
        snprintf(e->sentence, sizeof e->sentence, "%s", sbn_last_error());
    }
    if (e->status) {
        leave_exchange(bucket);
        return;
    }
    sbn__bucket_fill_sums(bucket, bucket->levels + sbn__status_words(parallel));
    if (start(parallel, SBN_TAG_WORDS, bucket->sums, sbn__bucket_sum_words(bucket),
              &bucket->request))
        bucket->stage = SBN_BUCKET_SUMS;
}

static void leave_sums(sbn_parallel *parallel, sbn_bucket *bucket)
{
    sbn_exchange *e = bucket->exchange;
    if (!arrived(parallel, &bucket->request))
        return;
    const sbn_group *own = parallel->own;
    int status = sbn__bucket_write(bucket, bucket->levels + sbn__status_words(parallel));
    for (size_t r = 0; r < own->replica_count; ++r) {
        const int kept = sbn__keep_event(&own->replicas[r], &e->written[r], bucket->copied[r]);
        status = status ? status : kept;
    }
    if (status) {
        keep_error(e, status);
        sbn__group_fail(parallel->own, status);
    }
    leave_exchange(bucket);
}

static void leave_writing(sbn_parallel *parallel, sbn_bucket *bucket)
{
    int done = 1;
    const int status = sbn__bucket_copied(bucket, parallel, &done);
    if (status) {
        sbn__bucket_wait(bucket, parallel->own->replica_count);
        sbn__group_fail(parallel->own, status);
    }
    if (!status && !done)
        return;
    bucket->stage = SBN_BUCKET_IDLE;
    ++parallel->moves;
}

/* Levels and sums start in the order of buckets. */
static void move_buckets(sbn_parallel *parallel)
{
    sbn_bucket_stage older = SBN_BUCKET_WRITING;
    for (size_t i = 0; i < parallel->busy; ++i) {
        sbn_bucket *bucket = &parallel->buckets[(parallel->oldest + i) % SBN_BUCKETS];
        if (bucket->stage == SBN_BUCKET_READING && older > SBN_BUCKET_READING)
            leave_reading(parallel, bucket);
        else if (bucket->stage == SBN_BUCKET_LEVELS && older > SBN_BUCKET_LEVELS)
            leave_levels(parallel, bucket);
        else if (bucket->stage == SBN_BUCKET_SUMS)
            leave_sums(parallel, bucket);
        else if (bucket->stage == SBN_BUCKET_WRITING)
            leave_writing(parallel, bucket);
        older = bucket->stage == SBN_BUCKET_IDLE ? SBN_BUCKET_WRITING : bucket->stage;
    }
    while (parallel->busy > 0 && parallel->buckets[parallel->oldest].stage == SBN_BUCKET_IDLE) {
        parallel->oldest = (parallel->oldest + 1) % SBN_BUCKETS;
        --parallel->busy;
    }
}

/* All of it is on its way to the devices. */
static void settle_those_done(sbn_parallel *parallel)
{
    for (size_t i = 0; i < parallel->under_way_count; ++i) {
        sbn_exchange *e = parallel->under_way[i];
        if (e->stage != SBN_MOVING || remains(e) || e->buckets > 0)
            continue;
        /* Where the last bucket could not be written, nobody else knows yet. */
        const int status = e->status ? e->status : e->error;
        sbn__fail(status, "%s", e->sentence);
        settle(e, status);
    }
}

void sbn__parallel_move(sbn_parallel *parallel)
{
    uint64_t before;
    do {
        before = parallel->moves;
        for (size_t i = 0; i < parallel->under_way_count; ++i)
            if (parallel->under_way[i]->stage == SBN_HEADER)
                leave_header(parallel->under_way[i]);
        open_buckets(parallel);
        move_buckets(parallel);
        settle_those_done(parallel);
    } while (parallel->moves != before);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void time_out(sbn_parallel *parallel)
{
    size_t first = 0, i = 0;
    while (parallel->under_way[first]->stage == SBN_SETTLED)
        ++first;
    const sbn_exchange *late = parallel->under_way[first];
    void *request = late->request;
    for (; i < parallel->busy && !request; ++i)
        request = parallel->buckets[(parallel->oldest + i) % SBN_BUCKETS].request;
    char missing[160];
    sbn__parallel_name_missing(parallel, request, missing, sizeof missing);
    sbn__group_fail(parallel->own, sbn__fail(SBN_TIMEOUT, "rank %d waited %g s in %s for %s",
                                             sbn__parallel_rank(parallel), parallel->own->timeout,
                                             late->name, missing));
    parallel->own->unreachable = 1;
    give_up(parallel, SBN_TIMEOUT);
}

/* The oldest bucket, if it waits for nothing but this rank's devices. */
static const sbn_bucket *held_by_devices(const sbn_parallel *parallel)
{
    const sbn_bucket *bucket = &parallel->buckets[parallel->oldest];
    const int full = parallel->busy == SBN_BUCKETS;
    if (parallel->busy > 0 &&
        (bucket->stage == SBN_BUCKET_READING || (full && bucket->stage == SBN_BUCKET_WRITING)))
        return bucket;
    return NULL;
}

/* The timeout counts from the last sign of life, anything that moved on. */
void sbn__exchange_wait(sbn_exchange *e)
{
    sbn_parallel *parallel = e->parallel;
    uint64_t watched = parallel->moves;
    double since = seconds();
    for (;;) {
        sbn__parallel_move(parallel);
        if (e->stage == SBN_SETTLED)
            return;
        const sbn_bucket *held = held_by_devices(parallel);
        if (held)
            sbn__bucket_wait(held, parallel->own->replica_count);
        if (held || parallel->moves != watched) {
            watched = parallel->moves;
            since = seconds();
        } else if (seconds() - since > parallel->own->timeout) {
            time_out(parallel);
        }
        sched_yield();
    }
}
