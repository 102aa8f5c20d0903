/*
 * The in-memory transport alone: 16 threads, thousands of reductions on three
 * tags, of any size, started ahead of each other, waited for in any order
 * and with random delays. Every sum is right on every thread. Without devices,
 * so that ThreadSanitizer sees all of it (make check-tsan).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <syncbn.h>

#include "base/memory.h"
#include "check/mix.h"
#include "support/tap.h"

enum { RANKS = 16, AHEAD = 8, MOST = 300 };

static sbn_hub *hub;
static uint64_t rounds = 4000;

typedef struct thread {
    pthread_t thread;
    int rank;
    uint64_t wrong, errors;
} thread;

static uint64_t draw(uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(a, b), c);
}

/* A rank's contribution to a word of a reduction: any integer, so that sums wrap. */
static int64_t word(int rank, uint64_t round, size_t i)
{
    return (int64_t)draw((uint64_t)rank + 1, round, i);
}

static int64_t sum_of(uint64_t round, size_t i)
{
    uint64_t sum = 0;
    for (int rank = 0; rank < RANKS; ++rank)
        sum += (uint64_t)word(rank, round, i);
    return (int64_t)sum;
}

typedef struct reduction {
    void *request;
    uint64_t round;
    size_t count;
    int64_t words[MOST];
} reduction;

static void start(thread *t, const sbn_transport *table, reduction *r, uint64_t round)
{
    r->round = round;
    r->count = 1 + draw(7, round, 0) % MOST;
    for (size_t i = 0; i < r->count; ++i)
        r->words[i] = word(t->rank, round, i);
    r->request = NULL;
    t->errors += table->start(table->context, (int)(draw(7, round, 1) % SBN_TAGS), r->words,
                              r->count, &r->request) != 0;
}

static void finish(thread *t, const sbn_transport *table, reduction *r)
{
    int done = 0;
    while (!done && !t->errors) {
        int ranks[RANKS];
        if (draw((uint64_t)t->rank, r->round, 5) % 16 == 0)
            t->errors += table->missing(table->context, r->request, ranks) >= RANKS;
        t->errors += table->test(table->context, r->request, &done) != 0;
        if (!done)
            sched_yield();
    }
    for (size_t i = 0; i < r->count; ++i)
        t->wrong += r->words[i] != sum_of(r->round, i);
}

static void delay(uint64_t random)
{
    if (random % 64 == 0)
        nanosleep(&(struct timespec){0, (long)(random >> 8) % 1000000}, NULL);
}

static void *run(void *argument)
{
    thread *t = argument;
    sbn_transport table = SBN_TRANSPORT_INIT;
    reduction *pending = malloc(sizeof *pending * AHEAD);
    if (!pending || sbn_hub_transport(hub, t->rank, &table)) {
        ++t->errors;
        free(pending);
        return NULL;
    }
    /* Batches of up to AHEAD reductions, ended forwards or backwards. */
    for (uint64_t round = 0; round < rounds && !t->errors;) {
        const uint64_t batch = 1 + draw(9, round, 0) % AHEAD;
        for (uint64_t i = 0; i < batch; ++i) {
            start(t, &table, &pending[i], round + i);
            delay(draw((uint64_t)t->rank, round + i, 2));
        }
        const int backwards = draw((uint64_t)t->rank, round, 3) % 2;
        for (uint64_t i = 0; i < batch; ++i)
            finish(t, &table, &pending[backwards ? batch - 1 - i : i]);
        round += batch;
    }
    free(pending);
    return NULL;
}

int main(void)
{
    const long at_start = sbn__handles_open();
    thread threads[RANKS];
    int created = 0;
    uint64_t wrong = 0, errors = 0;
    if (getenv("SBN_TEST_UNDER") && *getenv("SBN_TEST_UNDER"))
        rounds = 1000;
    if (sbn_hub_create(RANKS, &hub))
        return 1;
    for (; created < RANKS; ++created) {
        threads[created] = (thread){.rank = created};
        if (pthread_create(&threads[created].thread, NULL, run, &threads[created]))
            break;
    }
    if (created < RANKS)
        return 1;
    for (int rank = 0; rank < RANKS; ++rank) {
        pthread_join(threads[rank].thread, NULL);
        wrong += threads[rank].wrong;
        errors += threads[rank].errors;
    }
    tap_ok(wrong == 0 && errors == 0, "%d threads, %d reductions: %d wrong words, %d errors", RANKS,
           (int)rounds, (int)wrong, (int)errors);
    sbn_hub_destroy(hub);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    return tap_done();
}
