#include "parallel/move.h"

#include <stdio.h>
#include <string.h>

#include "parallel/bucket.h"
#include "parallel/check.h"
#include "pass/progress.h"

/* A bucket of the ring, counted from the oldest on. */
static sbn_bucket *bucket_at(sbn_data_parallel *parallel, size_t i)
{
    return &parallel->buckets[(parallel->oldest + i) % SBN_BUCKETS];
}

static void settle(sbn_exchange *e, int status)
{
    e->stage = SBN_SETTLED;
    e->status = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", status ? sbn_last_error() : "");
}

/* The communicator is dead: settles all exchanges under way with this status and the last sentence. */
static void give_up(sbn_data_parallel *parallel, int status)
{
    sbn_communicator *c = &parallel->communicator;
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    for (size_t i = 0; i < SBN_BUCKETS; ++i) {
        sbn_bucket *bucket = &parallel->buckets[i];
        sbn__request_abandon(c, &bucket->levels);
        sbn__request_abandon(c, &bucket->sums);
        if (bucket->stage != SBN_BUCKET_IDLE)
            bucket->stage = SBN_BUCKET_WRITING;
    }
    for (size_t i = 0; i < parallel->under_way_count; ++i) {
        sbn_exchange *e = parallel->under_way[i];
        if (e->stage == SBN_SETTLED)
            continue;
        sbn__request_abandon(c, &e->header);
        /* An exchange that only reported this rank's error returns that error. */
        settle(e, e->error ? sbn__fail(e->error, "%s", e->sentence)
                           : sbn__fail(status, "%s", sentence));
    }
}

/* Returns 0 after an error of the transport. */
static int start(sbn_data_parallel *parallel, sbn_request *request, int tag, size_t count)
{
    const int status = sbn__request_start(&parallel->communicator, request, tag, count);
    ++parallel->progress;
    if (status)
        give_up(parallel, status);
    return !status;
}

/* Returns 1 when the sum is complete. */
static int arrived(sbn_data_parallel *parallel, sbn_request *request)
{
    int done;
    const int status = sbn__request_poll(&parallel->communicator, request, &done);
    if (status)
        give_up(parallel, status);
    parallel->progress += (uint64_t)done;
    return done;
}

void sbn__exchange_start(sbn_exchange *e)
{
    sbn__exchange_header_fill(e);
    start(e->parallel, &e->header, SBN_TAG_HEADER, sbn__exchange_header_words(e->parallel));
}

static void leave_header(sbn_exchange *e)
{
    if (!arrived(e->parallel, &e->header))
        return;
    const int status = sbn__exchange_header_read(e);
    if (status)
        settle(e, status);
    else
        e->stage = SBN_MOVING;
}

/* Keeps an error of this rank; the next levels tell the others. */
static void keep_error(sbn_exchange *e, int status)
{
    if (!status || e->error)
        return;
    e->error = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", sbn_last_error());
}

/* 1 if there are further buckets. A single replica needs none. */
static int remains(const sbn_exchange *e)
{
    return e->floats > 0 && e->parallel->total > 1 && e->tensor < e->tensors;
}

static void open_bucket(sbn_data_parallel *parallel, sbn_exchange *e)
{
    sbn_bucket *bucket = bucket_at(parallel, parallel->busy);
    sbn__bucket_cut(bucket, e);
    ++parallel->busy;
    ++parallel->progress;
    ++e->buckets;
    bucket->stage = SBN_BUCKET_READING;
    keep_error(e, sbn__bucket_reserve(bucket, e));
    if (bucket->levels.capacity < sbn__status_words(parallel) + sbn__bucket_level_words(bucket)) {
        give_up(parallel, sbn__communicator_die_of_memory(&parallel->communicator, e->name));
        return;
    }
    if (!e->error && !e->status)
        keep_error(e, sbn__bucket_read(bucket));
}

/* Gives idle buckets to the oldest exchange that has tensors left. */
static void open_buckets(sbn_data_parallel *parallel)
{
    for (size_t i = 0; i < parallel->under_way_count; ++i) {
        sbn_exchange *e = parallel->under_way[i];
        while (e->stage == SBN_MOVING && remains(e) && parallel->busy < SBN_BUCKETS)
            open_bucket(parallel, e);
        if (e->stage == SBN_HEADER || (e->stage == SBN_MOVING && remains(e)))
            return;
    }
}

static void leave_reading(sbn_data_parallel *parallel, sbn_bucket *bucket)
{
    sbn_exchange *e = bucket->exchange;
    int done = 1;
    if (!e->error && !e->status)
        keep_error(e, sbn__bucket_copied(bucket, parallel, &done));
    if (!e->error && !done)
        return;
    const size_t statuses = sbn__status_words(parallel);
    const size_t words = statuses + sbn__bucket_level_words(bucket);
    memset(bucket->levels.words, 0, sizeof(int64_t) * words);
    if (e->error)
        sbn__status_fill(parallel, e->error, bucket->levels.words);
    else if (!e->status)
        sbn__bucket_fill_levels(bucket, bucket->levels.words + statuses);
    if (start(parallel, &bucket->levels, SBN_TAG_REPEAT, words))
        bucket->stage = SBN_BUCKET_LEVELS;
}

void sbn__parallel_unwritten(sbn_data_parallel *parallel, int status)
{
    /* Not only by the communicator, which may die later of something else, or have. */
    if (!parallel->unwritten) {
        parallel->unwritten = status;
        snprintf(parallel->reason, sizeof parallel->reason, "%s", sbn_last_error());
    }
    sbn__communicator_fail(&parallel->communicator, status);
}

/* The bucket has no more requests, and only its copies may be running. */
static void leave_exchange(sbn_bucket *bucket)
{
    --bucket->exchange->buckets;
    bucket->stage = SBN_BUCKET_WRITING;
}

static void leave_levels(sbn_data_parallel *parallel, sbn_bucket *bucket)
{
    sbn_exchange *e = bucket->exchange;
    if (!arrived(parallel, &bucket->levels))
        return;
    const int status = sbn__status_read(e, bucket->levels.words);
    if (status && !e->status) {
        e->status = status;
        snprintf(e->sentence, sizeof e->sentence, "%s", sbn_last_error());
    }
    if (e->status) {
        leave_exchange(bucket);
        return;
    }
    sbn__bucket_fill_sums(bucket, bucket->levels.words + sbn__status_words(parallel));
    if (start(parallel, &bucket->sums, SBN_TAG_WORDS, sbn__bucket_sum_words(bucket)))
        bucket->stage = SBN_BUCKET_SUMS;
}

static void leave_sums(sbn_data_parallel *parallel, sbn_bucket *bucket)
{
    sbn_exchange *e = bucket->exchange;
    if (!arrived(parallel, &bucket->sums))
        return;
    bucket->writes = 1;
    int status = sbn__bucket_write(bucket, bucket->levels.words + sbn__status_words(parallel));
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        const int kept = sbn__keep_event(&parallel->replicas[r], &e->written[r], bucket->copied[r]);
        status = status ? status : kept;
    }
    if (status) {
        keep_error(e, status);
        sbn__parallel_unwritten(parallel, status);
    }
    leave_exchange(bucket);
}

static void leave_writing(sbn_data_parallel *parallel, sbn_bucket *bucket)
{
    int done = 1;
    const int status = sbn__bucket_copied(bucket, parallel, &done);
    if (status && bucket->writes)
        sbn__parallel_unwritten(parallel, status);
    if (!done)
        return;
    bucket->stage = SBN_BUCKET_IDLE;
    ++parallel->progress;
}

/* Levels and sums start in the order of buckets. */
static void move_buckets(sbn_data_parallel *parallel)
{
    sbn_bucket_stage older = SBN_BUCKET_WRITING;
    for (size_t i = 0; i < parallel->busy; ++i) {
        sbn_bucket *bucket = bucket_at(parallel, i);
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

/* Settles exchanges whose last copies are enqueued. */
static void settle_those_done(sbn_data_parallel *parallel)
{
    for (size_t i = 0; i < parallel->under_way_count; ++i) {
        sbn_exchange *e = parallel->under_way[i];
        if (e->stage != SBN_MOVING || remains(e) || e->buckets > 0)
            continue;
        /* An error in writing the last bucket is known to this rank alone. */
        settle(e, sbn__fail(e->status ? e->status : e->error, "%s", e->sentence));
    }
}

void sbn__parallel_progress(sbn_data_parallel *parallel)
{
    uint64_t before;
    do {
        before = parallel->progress;
        for (size_t i = 0; i < parallel->under_way_count; ++i)
            if (parallel->under_way[i]->stage == SBN_HEADER)
                leave_header(parallel->under_way[i]);
        open_buckets(parallel);
        move_buckets(parallel);
        settle_those_done(parallel);
    } while (parallel->progress != before);
}

/* --- waiting: for devices without a limit, for other ranks until a deadline --------------- */

/* The request that the oldest unsettled exchange waits for. */
static sbn_request *late_request(sbn_data_parallel *parallel, sbn_exchange *oldest)
{
    if (oldest->header.in_flight)
        return &oldest->header;
    for (size_t i = 0; i < parallel->busy; ++i) {
        sbn_bucket *bucket = bucket_at(parallel, i);
        if (bucket->levels.in_flight || bucket->sums.in_flight)
            return bucket->levels.in_flight ? &bucket->levels : &bucket->sums;
    }
    return NULL;
}

/*
 * The oldest bucket that others wait for, if it waits only for this rank's devices. One that is written
 * holds up others only where it keeps the last place.
 */
static const sbn_bucket *held_by_devices(sbn_data_parallel *parallel)
{
    const int full = parallel->busy == SBN_BUCKETS;
    for (size_t i = 0; i < parallel->busy; ++i) {
        const sbn_bucket *bucket = bucket_at(parallel, i);
        if (bucket->stage == SBN_BUCKET_READING || (full && bucket->stage == SBN_BUCKET_WRITING))
            return bucket;
        if (bucket->stage != SBN_BUCKET_WRITING)
            return NULL;
    }
    return NULL;
}

void sbn__exchange_wait(sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    sbn_communicator *c = &parallel->communicator;
    sbn_deadline deadline = sbn__deadline_start(c);
    for (;;) {
        sbn__parallel_progress(parallel);
        /* A begin that fails on another rank waits there until this rank has moved its pass on. */
        sbn__progress(parallel->group);
        if (e->stage == SBN_SETTLED)
            return;
        const sbn_bucket *held = held_by_devices(parallel);
        if (held) {
            sbn__copies_wait(held->copied, parallel->replica_count);
            deadline = sbn__deadline_start(c);
            continue;
        }
        size_t first = 0;
        while (parallel->under_way[first]->stage == SBN_SETTLED)
            ++first;
        sbn_exchange *oldest = parallel->under_way[first];
        sbn_request *late = late_request(parallel, oldest);
        if (sbn__deadline_passed(c, &deadline, late))
            give_up(parallel, sbn__communicator_time_out(c, late, oldest->name));
    }
}
