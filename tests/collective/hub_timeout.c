/*
 * Ranks that do not come: in passes, in two layers' of a call, in a split, as in
 * sbn_data_parallel_create, and in an exchange of tensors. The others wait until their timeout, or
 * until a watchdog thread calls sbn_group_abort, and return with a sentence, or, with
 * SBN_TIMEOUT_LOCAL, with their own statistics. Also sbn_group_status of all these groups.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/parallel.h"
#include "support/exchanges.h"
#include "support/main.h"
#include "support/refused.h"
#include "support/stalls.h"

/* Of every group, in seconds, and when one that waits is aborted. */
#define TIMEOUT 0.5
#define ABORT 0.1

/* Who comes at once, and who does later or not at all. */
enum { ON_TIME = 3, LATE = 4 };

/* --- what they wait in --- */

/* Both layers in one call; the second one's outputs have to go elsewhere. */
static int train_branches(test_rank *m)
{
    sbn_shard shards[RANK_REPLICAS];
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    for (size_t r = 0; r < m->replicas; ++r) {
        shards[r] = m->shards[r];
        shards[r].y = shards[r].dx;
    }
    const sbn_branch list[] = {{sizeof(sbn_branch), m->layer, m->shards, m->saved, 0},
                               {sizeof(sbn_branch), m->second, shards, m->second_saved, 0}};
    int status = sbn_forward_branches(list, 2, results);
    m->result = results[1];
    if (!status && results[0].synchronised != results[1].synchronised)
        return rank_says(m, 1);
    if (!status)
        status = sbn_backward_branches(list, 1, results);
    clFinish(m->queue);
    return rank_says(m, status);
}

/* Then a pass of its part. An error makes no part. */
static int split(test_rank *m)
{
    const int colour = 0;
    sbn_group *part = NULL;
    const int status = sbn_group_split(m->group, &colour, &part);
    if (status || *sbn_last_error())
        return rank_says(m, part ? SBN_SUCCESS : status);
    must(sbn_batchnorm_set_group(m->layer, part), "sbn_batchnorm_set_group");
    rank_forward(m);
    must(sbn_batchnorm_set_group(m->layer, m->group), "sbn_batchnorm_set_group");
    must(sbn_group_destroy(part), "sbn_group_destroy");
    return m->status;
}

static int join(test_rank *m)
{
    sbn_data_parallel *parallel;
    return rank_says(m, sbn_data_parallel_create(m->group, NULL, &parallel));
}

typedef struct waiting {
    const char *in;
    int (*work)(test_rank *);
    int told; /* who comes late learns of the others, and does not wait for its own timeout */
} waiting;

static const waiting waits[] = {
    {"forward of layer \"first\"", rank_forward_twice, 1},
    {"forward of layer \"first\" and 1 more", train_branches, 1},
    {"sbn_group_split", split, 0},
    {"averaging of 7 tensors, 6149 floats", exchange_average, 0},
};

/* One of them, and what ends it; rank 0 alone is aborted. */
typedef struct trial {
    const waiting *of;
    int aborts, exchanges;
    int local; /* a timeout leaves a rank its own statistics; an exchange ends without them */
    char what[120];
    double waited, used; /* by rank 0: seconds, and of the processor's */
} trial;

static trial now;

static void *watch(void *group)
{
    pause_for(ABORT);
    return (void *)(intptr_t)sbn_group_abort(group);
}

/* Of the calling thread. */
static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static int under_watch(test_rank *m)
{
    pthread_t watchdog;
    void *aborted = NULL;
    if (m->rank != 0)
        return now.of->work(m);
    if (now.aborts)
        must(pthread_create(&watchdog, NULL, watch, m->group), "pthread_create");
    const double since = sbn__seconds(), used = processor_seconds();
    now.of->work(m);
    now.waited = sbn__seconds() - since;
    now.used = processor_seconds() - used;
    if (now.aborts)
        must(pthread_join(watchdog, &aborted), "pthread_join");
    must((int)(intptr_t)aborted, "sbn_group_abort");
    return m->status;
}

static int work_and_train(test_rank *m)
{
    return now.of->work(m) ? m->status : rank_train(m);
}

/* --- what is left of it --- */

static void expect_status(const test_ranks *all, int rank, int status, const char *words,
                          const char *what)
{
    const char *reason = NULL;
    const int came = sbn_group_status(all->of[rank].group, &reason);
    tap_ok(came == status && holds_words(reason, words),
           "%s: the status of rank %d's group is %s (%s), got %s: %s", what, rank,
           sbn_strerror(status), words, sbn_strerror(came), reason);
    tap_ok(sbn_group_status(all->of[rank].group, NULL) == status && !*sbn_last_error(),
           "%s: without a reason", what);
}

/* An error's words; or a rank has gone on with its own statistics. */
static void expect_rank(const test_rank *m, int status, const char *words, const char *what)
{
    rank_expect(m, status, status ? words : "", what);
    tap_ok(status ||
               (!m->result.synchronised && m->result.count == m->slices[0].samples * RANK_PLANE),
           "%s: rank %d: not synchronised, %d values", what, m->rank, (int)m->result.count);
}

static int blocks_of(const sbn_request_block *block)
{
    return block ? 1 + blocks_of(block->next) : 0;
}

static void check_on_time(test_ranks *all)
{
    char words[2][160];
    uint64_t before[3];
    for (int rank = 0; rank < 3; ++rank) {
        rank_reset(&all->of[rank]);
        before[rank] = rank_state(&all->of[rank]);
    }
    expect_status(all, 0, SBN_SUCCESS, "", "a new group");
    ranks_do_some(all, ON_TIME, under_watch);
    for (int rank = 0; rank < 2; ++rank) {
        const int aborted = now.aborts && rank == 0;
        snprintf(words[rank], sizeof *words, "rank %d%s waited%s in %s for rank 2", rank,
                 aborted ? ": sbn_group_abort was called while it" : "", aborted ? "" : " 0.5 s",
                 now.of->in);
        const int own = aborted ? SBN_ABORTED : now.local ? SBN_SUCCESS : SBN_TIMEOUT;
        const char *reason = aborted ? "sbn_group_abort was called" : "";
        expect_rank(&all->of[rank], own, words[rank], now.what);
        expect_status(all, rank, aborted || !now.exchanges ? own : SBN_SUCCESS,
                      now.exchanges ? reason : words[rank], now.what);
    }
    expect_status(all, 2, SBN_SUCCESS, "", "the rank that stayed away");
    for (int rank = 0; rank < 3; ++rank)
        tap_ok(now.local || rank_state(&all->of[rank]) == before[rank],
               "%s: nothing has changed on rank %d", now.what, rank);
    tap_ok(now.aborts ? now.waited >= ABORT / 2 && now.waited < TIMEOUT : now.waited >= TIMEOUT,
           "%s: rank 0 waited %g s of 0.5", now.what, now.waited);
    /* Of a rank that computes nothing. */
    tap_ok(now.of->work != split || now.local || now.used < now.waited / 3,
           "%s: expected less than a third of that of the processor's time, used %g s", now.what,
           now.used);
    expect(sbn_evaluate(all->of[0].layer, all->of[0].shards), SBN_SUCCESS, "",
           "evaluation by running statistics needs nobody");
    ranks_do_some(all, ON_TIME, now.local || now.of->told ? rank_train : now.of->work);
    for (int rank = 0; rank < 2; ++rank) {
        expect_rank(&all->of[rank],
                    now.local && !(now.aborts && rank == 0) ? SBN_SUCCESS : SBN_GROUP_FAILED,
                    words[rank], "afterwards");
        /* Of a pass: its header, sums and mismatch. */
        const int kept = blocks_of((now.exchanges ? &exchange_joined[rank]->communicator
                                                  : &all->of[rank].group->communicator)
                                       ->abandoned);
        tap_ok(now.of->told ? kept >= 3 : kept == 1,
               "%s: what the hub may still write to is kept, and no more is sent", now.what);
    }
}

static void check_late(test_ranks *all)
{
    const double start = sbn__seconds();
    char words[160];
    ranks_do_some(all, LATE, now.of->work);
    const double waited = sbn__seconds() - start;
    /* Who waits in two layers has called the first one. */
    snprintf(words, sizeof words,
             !now.of->told ? "rank 2 waited 0.5 s in %s for ranks 0, 1"
             : now.aborts  ? "rank 0 called %.24s|reported SBN_ABORTED; rank 1 called"
                           : "ranks 0, 1 called %.24s|reported SBN_TIMEOUT",
             now.of->in);
    const int own = now.local ? SBN_SUCCESS : now.of->told ? SBN_REMOTE_ERROR : SBN_TIMEOUT;
    expect_rank(&all->of[2], own, words, "the late rank");
    tap_ok(!now.of->told || waited < TIMEOUT, "%s: the late rank waits %g s", now.what, waited);
    ranks_do(all, now.exchanges ? exchange_average : join);
    for (int rank = 0; rank < 3; ++rank)
        rank_expect(&all->of[rank], SBN_GROUP_FAILED,
                    now.local
                        ? "after a timeout the group goes on with this rank's statistics alone"
                        : "failed earlier",
                    "no exchanges of tensors afterwards");
    ranks_do_some(all, ON_TIME | LATE, rank_train);
    for (int rank = 0; rank < 3 && !now.aborts; ++rank)
        if (now.exchanges)
            tap_ok(all->of[rank].status == SBN_SUCCESS && all->of[rank].result.synchronised,
                   "rank %d: batch norm goes on: %s", rank, all->of[rank].sentence);
        else
            expect_rank(&all->of[rank], now.local ? SBN_SUCCESS : SBN_GROUP_FAILED,
                        "failed earlier", "all afterwards");
    tap_ok(!now.local || !now.of->told || !all->of[0].group->communicator.abandoned,
           "%s: later passes release what the late rank has completed", now.what);
}

static void check(const waiting *of, sbn_timeout_action action, int aborts)
{
    test_ranks all;
    uint64_t alone = 0;
    now = (trial){.of = of, .aborts = aborts, .exchanges = of->work == exchange_average};
    now.local = action == SBN_TIMEOUT_LOCAL && !now.exchanges;
    snprintf(now.what, sizeof now.what, "%s in %s%s", aborts ? "aborted" : "a rank is absent",
             of->in, action == SBN_TIMEOUT_LOCAL ? ", a timeout is local" : "");
    if (now.local && !aborts)
        alone = ranks_digest_of(&device, 1, NULL, NULL, work_and_train, "alone");
    const long before = sbn__handles_open();
    ranks_open_waits(&all, &device, 3, NULL, TIMEOUT, action);
    if (now.exchanges)
        ranks_do(&all, exchange_join);
    check_on_time(&all);
    if (alone) {
        test_ranks first = all;
        first.count = 1;
        tap_ok(ranks_digest(&first) == alone, "the bits of a group of this rank alone");
    }
    if (!(aborts && now.local))
        check_late(&all);
    if (now.exchanges)
        ranks_do(&all, exchange_leave);
    ranks_close(&all);
    tap_ok(aborts || !of->told || sbn__handles_open() == before, "no request is left: %ld blocks",
           sbn__handles_open() - before);
}

/*
 * A rank that comes late to a pass whose sums travel with the header finds them all, succeeds, and times out
 * in its next pass.
 */
static void check_expected(sbn_timeout_action action)
{
    const int local = action == SBN_TIMEOUT_LOCAL;
    test_ranks all;
    ranks_open_waits(&all, &device, 3, NULL, TIMEOUT, action);
    for (int i = 0; i < 20; ++i)
        ranks_do(&all, rank_train);
    ranks_do_some(&all, ON_TIME, rank_forward);
    for (int rank = 0; rank < 2; ++rank)
        expect_rank(&all.of[rank], local ? SBN_SUCCESS : SBN_TIMEOUT,
                    "waited 0.5 s in forward of layer \"first\" for rank 2", "expected sums");
    ranks_do_some(&all, LATE, rank_forward);
    rank_expect(&all.of[2], SBN_SUCCESS, "", "the late rank");
    tap_ok(all.of[2].result.synchronised, "the late rank is synchronised");
    ranks_do_some(&all, LATE, rank_forward);
    expect_rank(&all.of[2], local ? SBN_SUCCESS : SBN_TIMEOUT,
                "rank 2 waited 0.5 s in forward of layer \"first\" for ranks 0, 1",
                "the pass behind");
    ranks_close(&all);
}

/* Who has given up a pass does not wait in an exchange, though that has a communicator of its own. */
static void check_exchange_behind(sbn_timeout_action action)
{
    test_ranks all;
    ranks_open_waits(&all, &device, 3, NULL, TIMEOUT, action);
    ranks_do(&all, exchange_join);
    ranks_do_some(&all, ON_TIME, rank_forward);
    const double start = sbn__seconds();
    ranks_do_some(&all, ON_TIME, exchange_average);
    const double waited = sbn__seconds() - start;
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_GROUP_FAILED,
                    action == SBN_TIMEOUT_LOCAL
                        ? "after a timeout the group goes on with this rank's statistics alone"
                        : "the group failed earlier|in forward of layer \"first\" for rank 2",
                    "an exchange behind a pass that has timed out");
    tap_ok(waited < TIMEOUT, "it waits %g s of 0.5", waited);
    ranks_do(&all, exchange_leave);
    ranks_close(&all);
}

/* An error of the rank itself. */
static int forward_unsaved(test_rank *m)
{
    return rank_says(m, sbn_forward(m->layer, m->shards, NULL, 0, NULL));
}

typedef struct told {
    int (*early)(test_rank *), (*late)(test_rank *);
    int status, local; /* of the late rank: where a timeout fails, and where it is local */
    const char *what;
} told;

static const told tellings[] = {
    {rank_forward, split, SBN_REMOTE_ERROR, SBN_SUCCESS, "a late split"},
    {rank_forward, join, SBN_REMOTE_ERROR, SBN_REMOTE_ERROR, "a late sbn_data_parallel_create"},
    {forward_unsaved, rank_forward, SBN_REMOTE_ERROR, SBN_SUCCESS, "late to ranks with errors"},
    {rank_forward, forward_unsaved, SBN_INVALID_ARGUMENT, SBN_INVALID_ARGUMENT,
     "late, with an error"},
};

/* Who comes late to a pass that others have given up is told so, and its group fails too, or goes on alone. */
static void check_told(const told *of, sbn_timeout_action action)
{
    static const char words[] = "rank cannot take part|called forward|reported SBN_TIMEOUT";
    const int local = action == SBN_TIMEOUT_LOCAL;
    test_ranks all;
    ranks_open_waits(&all, &device, 3, NULL, TIMEOUT, action);
    ranks_do_some(&all, ON_TIME, of->early);
    const double start = sbn__seconds();
    ranks_do_some(&all, LATE, of->late);
    expect_rank(&all.of[2], local ? of->local : of->status,
                of->late == forward_unsaved ? "saved: expected" : words, of->what);
    expect_status(&all, 2, local ? SBN_SUCCESS : SBN_REMOTE_ERROR, words, of->what);
    ranks_do_some(&all, LATE, rank_forward);
    const double waited = sbn__seconds() - start;
    expect_rank(&all.of[2], local ? SBN_SUCCESS : SBN_GROUP_FAILED, words, of->what);
    tap_ok(waited < TIMEOUT, "%s: and the pass behind it: %g s of 0.5", of->what, waited);
    ranks_close(&all);
}

static void *open_gate(void *gate)
{
    pause_for(3 * TIMEOUT);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    return gate;
}

/* A pass that goes on alone waits neither for the next one's wait list nor for what its queue got since it began. */
static int end_first(test_rank *m)
{
    sbn_shard other = m->shards[0];
    cl_event gate = fixture_gate(&device);
    cl_int state = CL_COMPLETE;
    sbn_result result = SBN_RESULT_INIT;
    sbn_pass *passes[2];
    pthread_t opener;
    other.y = other.dx;
    other.num_wait = 1;
    other.wait_list = &gate;
    must(sbn_forward_begin(m->layer, m->shards, m->saved, 0, &passes[0]), "the first pass");
    must(sbn_forward_begin(m->second, &other, m->second_saved, 0, &passes[1]), "the second one");
    must(pthread_create(&opener, NULL, open_gate, gate), "pthread_create");
    const int status = sbn_pass_end(passes[0], &result);
    must(clGetEventInfo(gate, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
         "clGetEventInfo");
    tap_ok(status == SBN_SUCCESS && !result.synchronised && state > CL_COMPLETE,
           "a pass ends alone, status %d, before the gate opens: state %d", status, (int)state);
    must(pthread_join(opener, NULL), "pthread_join");
    must(sbn_pass_end(passes[1], NULL), "sbn_pass_end");
    must(clReleaseEvent(gate), "clReleaseEvent");
    return status;
}

static void check_gate(void)
{
    test_ranks all;
    ranks_open_waits(&all, &device, 2, NULL, TIMEOUT, SBN_TIMEOUT_LOCAL);
    ranks_do_some(&all, 1, end_first);
    ranks_close(&all);
}

/* Nobody waits: the next call learns of it. */
static void check_alone(void)
{
    static const char words[] = "failed earlier: sbn_group_abort was called";
    test_ranks all;
    ranks_open(&all, &device, 1, NULL, NULL, NULL);
    test_rank *m = &all.of[0];
    must(exchange_join(m), "sbn_data_parallel_create");
    expect(rank_forward(m), SBN_SUCCESS, "", "alone, before");
    REFUSED(sbn_group_abort(NULL), "group|got NULL");
    expect(sbn_group_abort(m->group), SBN_SUCCESS, "", "the abort");
    expect_status(&all, 0, SBN_ABORTED, "sbn_group_abort was called", "alone, at once");
    expect(rank_forward(m), SBN_GROUP_FAILED, words, "alone, the next pass");
    expect(exchange_average(m), SBN_GROUP_FAILED, words, "alone, the next exchange");
    expect(split(m), SBN_GROUP_FAILED, words, "alone, a split");
    expect_status(&all, 0, SBN_ABORTED, "sbn_group_abort was called", "alone, afterwards");
    expect(sbn_evaluate(m->layer, m->shards), SBN_SUCCESS, "", "alone, evaluation");
    exchange_leave(m);
    ranks_close(&all);
    const char *reason = "?";
    REFUSED(sbn_group_status(NULL, &reason), "group|got NULL");
    tap_ok(*reason == '\0', "status: NULL: no reason");
}

void checks_of_deadlines(void)
{
    check_alone();
    check_gate();
    for (sbn_timeout_action action = SBN_TIMEOUT_FAIL; action <= SBN_TIMEOUT_LOCAL; ++action) {
        check_expected(action);
        check_exchange_behind(action);
        for (size_t i = 0; i < sizeof tellings / sizeof *tellings; ++i)
            check_told(&tellings[i], action);
        for (size_t i = 0; i < 2 * sizeof waits / sizeof *waits; ++i)
            check(&waits[i / 2], action, (int)i % 2);
    }
}
