#include "parallel/bucket.h"

#include <string.h>

#include "base/float_bits.h"
#include "base/memory.h"
#include "parallel/average.h"
#include "parallel/check.h"
#include "plan/sizes.h"

/* --- how tensors are cut into buckets, a bucket into pieces, and pieces into blocks --------- */

/* A part of one tensor, and where it lies in the bucket. */
typedef struct piece {
    size_t at, tensor, first, count;
} piece;

/* A block of the bucket: never of two tensors. */
typedef struct block {
    piece piece;
    size_t at, count;
    const int64_t *range;
} block;

/* How much of a tensor fits: all of the rest, or as many complete blocks as there is room for. */
static size_t fitting(size_t left, size_t room)
{
    return left <= room ? left : room / SBN_AVERAGE_BLOCK * SBN_AVERAGE_BLOCK;
}

/* The piece that follows, from a zeroed one on; 0 after the last. */
static int next_piece(const sbn_bucket *bucket, piece *p)
{
    const size_t *counts = bucket->exchange->counts;
    if (p->count == 0) {
        p->tensor = bucket->tensor;
        p->first = bucket->first;
    } else {
        p->at += p->count;
        ++p->tensor;
        p->first = 0;
    }
    if (p->at == bucket->floats)
        return 0;
    while (counts[p->tensor] == 0)
        ++p->tensor;
    p->count = fitting(counts[p->tensor] - p->first, bucket->floats - p->at);
    return 1;
}

void sbn__bucket_cut(sbn_bucket *bucket, sbn_exchange *e)
{
    const size_t limit = e->parallel->bucket_floats;
    bucket->exchange = e;
    bucket->tensor = e->tensor;
    bucket->first = e->first;
    bucket->floats = bucket->blocks = 0;
    bucket->writes = 0;
    while (e->tensor < e->tensors) {
        const size_t left = e->counts[e->tensor] - e->first;
        const size_t part = fitting(left, limit - bucket->floats);
        bucket->floats += part;
        bucket->blocks += sbn__ceil_div(part, SBN_AVERAGE_BLOCK);
        e->first += part;
        if (part < left)
            break;
        ++e->tensor;
        e->first = 0;
    }
}

/* The block that follows, from a zeroed one on; 0 after the last. */
static int next_block(const sbn_bucket *bucket, const int64_t *levels, block *b)
{
    piece *p = &b->piece;
    b->at += b->count;
    b->range = b->range ? b->range + SBN_RANGE_WORDS : levels;
    if (b->at == p->at + p->count && !next_piece(bucket, p))
        return 0;
    b->count = sbn__at_most(p->at + p->count - b->at, SBN_AVERAGE_BLOCK);
    return 1;
}

/* --- memory and copies ------------------------------------------------------------------- */

int sbn__bucket_open(sbn_bucket *bucket, size_t replicas)
{
    bucket->host = sbn__allocate(sizeof *bucket->host * replicas);
    bucket->copied = sbn__allocate(sizeof(cl_event) * replicas);
    return bucket->host && bucket->copied ? SBN_SUCCESS : sbn__fail_memory("a bucket of tensors");
}

void sbn__bucket_close(sbn_bucket *bucket, size_t replicas)
{
    if (bucket->copied)
        sbn__copies_wait(bucket->copied, replicas);
    for (size_t r = 0; r < replicas; ++r) {
        if (bucket->copied)
            sbn__release_event(&bucket->copied[r]);
        if (bucket->host)
            sbn__staging_release(&bucket->host[r]);
    }
    sbn__free(bucket->copied);
    sbn__free(bucket->host);
    sbn__request_free(&bucket->levels);
    sbn__request_free(&bucket->sums);
}

int sbn__bucket_reserve(sbn_bucket *bucket, const sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    const char *what = "a bucket of tensors";
    const size_t limit = parallel->bucket_floats;
    const size_t floats = e->floats < limit ? (size_t)e->floats : limit;
    /* Each tensor may end with an incomplete block. */
    const size_t blocks = sbn__at_most(floats / SBN_AVERAGE_BLOCK + e->tensors, floats);
    const size_t ranges = e->averages ? blocks : 0;
    /* Levels first: they also tell the other ranks of an error. */
    int status = sbn__request_reserve(&bucket->levels,
                                      sbn__status_words(parallel) + SBN_RANGE_WORDS * ranges, what);
    if (!status && (sbn__communicator_is_joined(&parallel->communicator) || e->averages))
        status = sbn__request_reserve(&bucket->sums, floats, what);
    /* Not on the queue of the copies, which may wait for commands of the caller's. */
    for (size_t r = 0; r < parallel->replica_count && !status; ++r)
        status = sbn__staging_reserve(&parallel->group->replicas[r], &bucket->host[r],
                                      sizeof(float) * floats);
    return status;
}

static float *floats_of(const sbn_bucket *bucket, size_t replica)
{
    return bucket->host[replica].at;
}

/* This rank's replica that a broadcast reads; the number of replicas if there is none. */
static size_t source_of(const sbn_exchange *e)
{
    /* Of a root before this rank's first replica the difference is huge. */
    return sbn__at_most(e->root - e->parallel->first, e->parallel->replica_count);
}

enum { TO_HOST, TO_DEVICE };

/* Enqueues a copy for each piece. Each waits for the one before, so that the last event covers all of them. */
static int copy(sbn_bucket *bucket, size_t r, int direction, float *host)
{
    const sbn_exchange *e = bucket->exchange;
    const sbn_replica *replica = &e->parallel->replicas[r];
    const cl_command_queue queue = replica->transfer_queue;
    const cl_event *after = &e->ready[r];
    cl_event *last = &bucket->copied[r];
    for (piece p = {0}; next_piece(bucket, &p);) {
        const sbn_buffer *buffer = &sbn__tensors_at(e, r).buffers[p.tensor];
        const size_t offset = sizeof(float) * (buffer->offset + p.first);
        const size_t size = sizeof(float) * p.count;
        cl_event event = NULL;
        int done;
        /* PoCL 3.1 never runs a command that waits for an event which has failed. */
        const int failed = sbn__event_done(replica, *after, &done);
        if (failed)
            return failed;
        const cl_int code = direction == TO_HOST
                                ? clEnqueueReadBuffer(queue, buffer->mem, CL_FALSE, offset, size,
                                                      host + p.at, 1, after, &event)
                                : clEnqueueWriteBuffer(queue, buffer->mem, CL_FALSE, offset, size,
                                                       host + p.at, 1, after, &event);
        if (code != CL_SUCCESS)
            return sbn__fail(code, "replica %zu: tensor %zu: %s: %s", r, p.tensor,
                             direction == TO_HOST ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer",
                             sbn_strerror(code));
        sbn__handle_opened();
        sbn__release_event(last);
        *last = event;
        after = last;
    }
    return sbn__check_cl(replica, "clFlush", clFlush(queue));
}

int sbn__bucket_read(sbn_bucket *bucket)
{
    const sbn_exchange *e = bucket->exchange;
    const size_t replicas = e->parallel->replica_count, source = source_of(e);
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < replicas && !status; ++r) {
        /* The one of an earlier exchange may have failed. */
        sbn__release_event(&bucket->copied[r]);
        if (e->averages || r == source)
            status = copy(bucket, r, TO_HOST, floats_of(bucket, r));
    }
    return status;
}

int sbn__bucket_copied(const sbn_bucket *bucket, const sbn_data_parallel *parallel, int *done)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        int one;
        if (!bucket->copied[r])
            continue;
        const int failed = sbn__event_done(&parallel->replicas[r], bucket->copied[r], &one);
        /* At once, unless it is the question that failed. */
        if (failed)
            clWaitForEvents(1, &bucket->copied[r]);
        status = status ? status : failed;
        *done = *done && (one || failed);
    }
    for (size_t r = 0; r < parallel->replica_count && *done && !status; ++r)
        if (bucket->copied[r])
            status = sbn__event_wait(&parallel->replicas[r], bucket->copied[r]);
    return status;
}

void sbn__copies_wait(const cl_event *copies, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        if (copies[r])
            clWaitForEvents(1, &copies[r]);
}

/* --- the words of its requests ------------------------------------------------------------ */

size_t sbn__bucket_level_words(const sbn_bucket *bucket)
{
    return bucket->exchange->averages ? SBN_RANGE_WORDS * bucket->blocks : 0;
}

size_t sbn__bucket_sum_words(const sbn_bucket *bucket)
{
    return bucket->exchange->averages ? bucket->floats : (bucket->floats + 1) / 2;
}

void sbn__bucket_fill_levels(const sbn_bucket *bucket, int64_t *levels)
{
    const size_t replicas = bucket->exchange->parallel->replica_count;
    if (!bucket->exchange->averages)
        return;
    for (block b = {0}; next_block(bucket, levels, &b);) {
        sbn_range range = {0};
        for (size_t r = 0; r < replicas; ++r)
            sbn__range_include(&range, floats_of(bucket, r) + b.at, b.count);
        sbn__range_put(range, levels + (b.range - levels));
    }
}

/* Two floats by value in a word that is 0: with zeros added, the bits are the same on any host. */
static void pack(const float *floats, size_t count, int64_t *words)
{
    for (size_t i = 0; i < count; ++i)
        words[i / 2] |= (int64_t)((uint64_t)sbn__float_bits(floats[i]) << 32 * (i % 2));
}

static void unpack(const int64_t *words, size_t count, float *floats)
{
    for (size_t i = 0; i < count; ++i)
        floats[i] = sbn__float_of_bits((uint32_t)((uint64_t)words[i / 2] >> 32 * (i % 2)));
}

void sbn__bucket_fill_sums(sbn_bucket *bucket, const int64_t *levels)
{
    const sbn_exchange *e = bucket->exchange;
    const size_t replicas = e->parallel->replica_count, source = source_of(e);
    if (!e->averages && !sbn__communicator_is_joined(&e->parallel->communicator))
        return;
    memset(bucket->sums.words, 0, sizeof(int64_t) * sbn__bucket_sum_words(bucket));
    if (!e->averages) {
        if (source < replicas)
            pack(floats_of(bucket, source), bucket->floats, bucket->sums.words);
        return;
    }
    for (block b = {0}; next_block(bucket, levels, &b);) {
        const sbn_range range = sbn__range_get(b.range);
        for (size_t r = 0; r < replicas; ++r)
            sbn__fixed_add(range, e->parallel->total, floats_of(bucket, r) + b.at, b.count,
                           bucket->sums.words + b.at);
    }
}

int sbn__bucket_write(sbn_bucket *bucket, const int64_t *levels)
{
    const sbn_exchange *e = bucket->exchange;
    const size_t replicas = e->parallel->replica_count, source = source_of(e);
    const size_t from = !e->averages && source < replicas ? source : 0;
    float *floats = floats_of(bucket, from);
    int status = SBN_SUCCESS;
    if (e->averages)
        for (block b = {0}; next_block(bucket, levels, &b);)
            sbn__fixed_mean(sbn__range_get(b.range), e->parallel->total, bucket->sums.words + b.at,
                            b.count, floats + b.at);
    else if (source == replicas)
        unpack(bucket->sums.words, bucket->floats, floats);
    for (size_t r = 0; r < replicas && !status; ++r)
        if (e->averages || r != source)
            status = copy(bucket, r, TO_DEVICE, floats);
    return status;
}
