#include "support/exchanges.h"

#include "check/mix.h"

#include <string.h>

const size_t exchange_counts[TENSORS] = {1, 3000, 0, 1024, 5, 2049, 70};

/* Patterns before each tensor and behind the last. */
enum { GAP = 3, WHOLE = EXCHANGE_FLOATS + GAP * (TENSORS + 1) };

float exchange_value(size_t replica, size_t i)
{
    const uint64_t z = mix(replica, i);
    /* 2^-20 ... 2^11, of both signs. */
    const float power = (float)(1u << (z >> 5 & 31)) * 0x1p-20f;
    return ((float)(z >> 40) * 0x1p-23f - 1) * power;
}

void tensors_open(exchange_tensors *t, const test_rank *m)
{
    *t = (exchange_tensors){.replicas = m->replicas, .queue = m->queue};
    for (size_t r = 0; r < t->replicas; ++r) {
        fixture of = {.context = NULL};
        must(clGetCommandQueueInfo(m->queue, CL_QUEUE_CONTEXT, sizeof of.context, &of.context,
                                   NULL),
             "clGetCommandQueueInfo");
        t->mem[r] = fixture_buffer(&of, sizeof(float) * WHOLE, NULL);
        size_t at = GAP;
        for (int i = 0; i < TENSORS; ++i) {
            /* An empty tensor needs no buffer. */
            if (exchange_counts[i] > 0)
                t->buffers[r][i] = (sbn_buffer){t->mem[r], at};
            at += exchange_counts[i] + GAP;
        }
        t->of[r] = (sbn_tensors){.size = sizeof(sbn_tensors), .buffers = t->buffers[r]};
        t->of[r].event = &t->events[r];
    }
}

/* On a queue without order only what waits for the event of an exchange runs behind its copies. */
static void await_exchange(const exchange_tensors *t)
{
    for (size_t r = 0; r < t->replicas; ++r)
        if (t->events[r])
            clWaitForEvents(1, &t->events[r]);
}

static void compose(float *whole, size_t replica)
{
    size_t at = 0, element = 0;
    for (int i = 0; i <= TENSORS; ++i) {
        for (int k = 0; k < GAP; ++k)
            whole[at++] = PATTERN;
        for (size_t k = 0; i < TENSORS && k < exchange_counts[i]; ++k)
            whole[at++] = exchange_value(replica, element++);
    }
}

/* The other way round: the elements; 0 where a pattern has changed. */
static int decompose(const float *whole, float *elements)
{
    int same = 1;
    for (int i = 0; i <= TENSORS; ++i) {
        for (int k = 0; k < GAP; ++k)
            same = *whole++ == PATTERN && same;
        for (size_t k = 0; i < TENSORS && k < exchange_counts[i]; ++k)
            *elements++ = *whole++;
    }
    return same;
}

void tensors_fill(exchange_tensors *t, size_t first)
{
    static _Thread_local float whole[WHOLE];
    await_exchange(t);
    events_release(t->events, t->replicas);
    for (size_t r = 0; r < t->replicas; ++r) {
        compose(whole, first + r);
        buffer_write(&(slice){.queue = t->queue}, &(sbn_buffer){t->mem[r], 0}, WHOLE, whole);
    }
}

void tensors_close(exchange_tensors *t)
{
    clFinish(t->queue);
    events_release(t->events, t->replicas);
    for (size_t r = 0; r < t->replicas; ++r)
        clReleaseMemObject(t->mem[r]);
}

uint64_t tensors_digest(const exchange_tensors *t, float *to)
{
    static _Thread_local float whole[WHOLE], own[EXCHANGE_FLOATS];
    uint64_t digest = 0;
    await_exchange(t);
    for (size_t r = 0; r < t->replicas; ++r) {
        buffer_read(&(slice){.queue = t->queue}, &(sbn_buffer){t->mem[r], 0}, WHOLE, whole);
        const int same = decompose(whole, own);
        const uint64_t its = sbn__digest(SBN_DIGEST_START, own, sizeof own);
        if (!same || (r > 0 && its != digest))
            return 0;
        digest = its;
        if (r == 0 && to)
            memcpy(to, own, sizeof own);
    }
    return digest;
}

uint64_t tensors_state(const exchange_tensors *t)
{
    const slice on = {.queue = t->queue};
    uint64_t digest = SBN_DIGEST_START;
    await_exchange(t);
    for (size_t r = 0; r < t->replicas; ++r)
        digest = digest_buffer(digest, &on, &(sbn_buffer){t->mem[r], 0}, WHOLE);
    return digest;
}

exchange_tensors exchange_of[RANKS_MAX];
sbn_data_parallel *exchange_joined[RANKS_MAX];
size_t exchange_bucket_bytes = 4096;

int exchange_join(test_rank *m)
{
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = exchange_bucket_bytes;
    expect_leaks();
    exchange_joined[m->rank] = NULL;
    tensors_open(&exchange_of[m->rank], m);
    return rank_says(m, sbn_data_parallel_create(m->group, &config, &exchange_joined[m->rank]));
}

int exchange_average(test_rank *m)
{
    return rank_says(m, sbn_average_gradients(exchange_joined[m->rank], exchange_counts, TENSORS,
                                              exchange_of[m->rank].of));
}

int exchange_leave(test_rank *m)
{
    tensors_close(&exchange_of[m->rank]);
    sbn_data_parallel_destroy(exchange_joined[m->rank]);
    return SBN_SUCCESS;
}

uint64_t exchanges_digest(const test_ranks *all, const char *what)
{
    uint64_t digest = 0;
    int odd = 0;
    for (int rank = 0; rank < all->count; ++rank) {
        const test_rank *m = &all->of[rank];
        odd += m->status != SBN_SUCCESS;
        if (m->replicas == 0)
            continue;
        odd += !m->digest || (digest && m->digest != digest);
        digest = m->digest;
    }
    tap_ok(!odd, "%s: all replicas have the same: %s", what, all->of[0].sentence);
    return odd ? 0 : digest;
}
