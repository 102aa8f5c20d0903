/*
 * Memory runs out on one of two ranks, at every allocation of a pass that disagrees, of one in the
 * wide format, of a split and of sbn_data_parallel_create: that rank returns SBN_OUT_OF_MEMORY. If
 * it could tell the other rank, that one names it, and both go on; if not, the other rank times out,
 * and its own group, or only the sbn_data_parallel that was to be made, has failed.
 */
#include <syncbn/data_parallel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "group/group.h"
#include "support/ranks.h"
#include "support/wraps.h"

static fixture device;
static int fault, failed; /* on rank 1; which function it was, or -1 */

static void begin_fault(const test_rank *m)
{
    expect_leaks();
    if (m->rank == 1)
        wraps_fail(WRAP_ALLOCATE, fault);
}

static int end_fault(test_rank *m, int status)
{
    rank_says(m, status);
    if (m->rank == 1) {
        failed = wraps_failed();
        wraps_fail(WRAP_ALLOCATE, 0);
    }
    return status;
}

/* Values that need the wide format. */
static int wide_forward(test_rank *m)
{
    const slice *s = &m->slices[0];
    buffer_fill(s, &s->shard.x, RANK_PLANE, 3e30f);
    begin_fault(m);
    return end_fault(m, sbn_forward(m->layer, m->shards, m->saved, 0, NULL));
}

static int disagree(test_rank *m)
{
    begin_fault(m);
    return end_fault(m, sbn_forward(m->rank ? m->second : m->layer, m->shards,
                                    m->rank ? m->second_saved : m->saved, 0, NULL));
}

static int split(test_rank *m)
{
    const int colours[RANK_REPLICAS] = {0};
    sbn_group *part = NULL;
    begin_fault(m);
    end_fault(m, sbn_group_split(m->group, colours, &part));
    if (m->status && part)
        tap_ok(0, "a group after an error");
    sbn_group_destroy(part);
    return m->status;
}

static int make_parallel(test_rank *m)
{
    sbn_data_parallel *parallel = NULL;
    begin_fault(m);
    end_fault(m, sbn_data_parallel_create(m->group, NULL, &parallel));
    if (m->status && parallel)
        tap_ok(0, "an sbn_data_parallel after an error");
    sbn_data_parallel_destroy(parallel);
    return m->status;
}

typedef struct scenario {
    const char *what;
    int (*work)(test_rank *);
    int usual; /* without a fault */
    int least; /* allocations */
} scenario;

static int is_told(const test_rank *m)
{
    return m->status == SBN_REMOTE_ERROR &&
           holds_words(m->sentence, "rank 1|reported SBN_OUT_OF_MEMORY");
}

/*
 * Seconds in which two ranks meet, tried again with more where they do not; under a tool everything
 * takes longer. Ranks that wait keep a processor busy.
 */
static double patience(void)
{
    const char *tool = getenv("SBN_TEST_UNDER");
    return tool && *tool ? 0.5 : 0.15;
}

/* What became of the two ranks when an allocation failed. */
typedef struct outcome {
    int any;             /* there was such an allocation */
    int told, timed_out; /* the other rank */
    int slow;            /* a rank timed out that nothing kept */
    char wrong[1024];    /* empty: all was right */
} outcome;

static void complain(outcome *o, const char *what, const test_rank *m)
{
    if (!*o->wrong)
        snprintf(o->wrong, sizeof o->wrong, "%s: %s: %s", what, sbn_strerror(m->status),
                 m->sentence);
}

/* Only the communicator of an sbn_data_parallel can fail without its group. */
static int group_lives(const scenario *s, const test_rank *m)
{
    return s->work == make_parallel && !m->group->communicator.dead;
}

/*
 * The passes after the failure: a rank that was told goes on, and so do both where their groups live;
 * otherwise both groups are dead.
 */
static void go_on(outcome *o, const scenario *s, test_ranks *all)
{
    test_rank *first = &all->of[0], *second = &all->of[1];
    fault = 0;
    if (o->timed_out && second->status != s->usual && !group_lives(s, second)) {
        rank_forward(second);
        /* Its group lives: it told the other rank, which did not wait for that. */
        o->slow |= second->status == SBN_TIMEOUT;
        if (second->status != SBN_GROUP_FAILED || !holds_words(second->sentence, "memory"))
            complain(o, "afterwards, alone", second);
        return;
    }
    ranks_do(all, rank_train);
    o->slow |= first->status == SBN_TIMEOUT || second->status == SBN_TIMEOUT;
    if (first->status)
        complain(o, "afterwards, the other rank", first);
    if (second->status)
        complain(o, "afterwards", second);
}

/* The n-th allocation of rank 1 fails. */
static outcome fail_once(const scenario *s, int n, double timeout)
{
    const size_t ones[] = {1, 1}, samples[] = {2, 3};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    test_ranks all;
    outcome o = {0};
    config.timeout = timeout;
    ranks_open(&all, &device, 2, ones, samples, &config);
    fault = n;
    ranks_do(&all, s->work);
    const test_rank *first = &all.of[0], *second = &all.of[1];
    o.any = failed >= 0;
    o.told = is_told(first);
    o.timed_out = first->status == SBN_TIMEOUT;
    o.slow = second->status == SBN_TIMEOUT || (o.timed_out && second->status == s->usual);
    if (!o.any && (first->status != s->usual || second->status != s->usual))
        complain(&o, "without a fault", second);
    /* A sentence may be shorter for lack of memory: then nothing has failed. */
    const int any_error = o.any && second->status != s->usual;
    if (any_error &&
        (second->status != SBN_OUT_OF_MEMORY || !holds_words(second->sentence, "memory")))
        complain(&o, "expected SBN_OUT_OF_MEMORY", second);
    if (any_error && !o.timed_out && !o.told)
        complain(&o, "the other rank", first);
    go_on(&o, s, &all);
    ranks_close(&all);
    return o;
}

/*
 * The n-th allocation fails; 0 if there were fewer. A machine may stop a rank for longer than the
 * timeout: what comes of that is tried again with more time.
 */
static int fails(const scenario *s, int n, int *told, int *late)
{
    double timeout = patience();
    outcome o = fail_once(s, n, timeout);
    for (int again = 0; again < 2 && o.slow; ++again)
        o = fail_once(s, n, timeout *= 5);
    if (*o.wrong)
        tap_ok(0, "%s, allocation %d: %s", s->what, n, o.wrong);
    *told += o.told;
    *late += o.timed_out;
    return o.any;
}

static void checks(void)
{
    const scenario scenarios[] = {
        {"a pass in the wide format", wide_forward, SBN_SUCCESS, 20},
        {"a disagreement", disagree, SBN_DISAGREEMENT, 20},
        {"a split", split, SBN_SUCCESS, 10},
        {"sbn_data_parallel_create", make_parallel, SBN_SUCCESS, 15},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
        const scenario *s = &scenarios[i];
        int n = 1, told = 0, late = 0;
        while (fails(s, n, &told, &late))
            ++n;
        tap_ok(n > s->least && told > 0 && late > 0,
               "%s: %d allocations failed; the other rank was told %d times, and waited %d times",
               s->what, n - 1, told, late);
    }
}

/* Ranks that time out leave words allocated. */
int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    expect_leaks();
    checks();
    fixture_close(&device);
    return tap_done();
}
