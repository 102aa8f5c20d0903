/*
 * A watchdog thread calls sbn_group_abort while the group's own thread waits for an absent rank: in
 * a pass, a split, as in sbn_data_parallel_create, and an exchange. The other ranks time out. Also
 * sbn_group_status of groups that work, that have failed, and that have been aborted.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "support/exchanges.h"
#include "support/refused.h"
#include "support/stalls.h"

static fixture device;

/* Of every group, in seconds. */
enum { TIMEOUT = 1 };

static atomic_int here; /* ranks that are about to wait */
static double seconds_of[RANKS_MAX];
static int other_status[RANKS_MAX];

/* Aborts rank 0's group, once it waits. */
static void *watch(void *argument)
{
    sbn_group *group = argument;
    while (atomic_load(&here) < 1)
        sched_yield();
    pause_for(0.3);
    return (void *)(intptr_t)sbn_group_abort(group);
}

/* Does `wait_for` on ranks 0 and 1, while rank 2 stays away; on rank 0 a watchdog aborts it. */
static int (*wait_for)(test_rank *);

static int under_watch(test_rank *m)
{
    pthread_t watchdog;
    void *aborted = NULL;
    expect_leaks();
    if (m->rank == 2)
        return 0;
    if (m->rank == 0)
        must(pthread_create(&watchdog, NULL, watch, m->group), "pthread_create");
    const double since = sbn__seconds();
    if (m->rank == 0)
        atomic_fetch_add(&here, 1);
    const int status = wait_for(m);
    seconds_of[m->rank] = sbn__seconds() - since;
    rank_says(m, status);
    if (m->rank == 0) {
        must(pthread_join(watchdog, &aborted), "pthread_join");
        must((int)(intptr_t)aborted, "sbn_group_abort");
    }
    return status;
}

/* Two passes, of which the second is ended first: both fail by the abort. */
static int wait_in_pass(test_rank *m)
{
    sbn_pass *first, *second;
    must(sbn_forward_begin(m->layer, m->shards, m->saved, 0, &first), "begin");
    must(sbn_forward_begin(m->second, m->shards, m->second_saved, 0, &second), "begin");
    other_status[m->rank] = sbn_pass_end(second, NULL);
    return sbn_pass_end(first, NULL);
}

static int wait_in_split(test_rank *m)
{
    const int colours[RANK_REPLICAS] = {0};
    sbn_group *parts[RANK_REPLICAS];
    return sbn_group_split(m->group, colours, parts);
}

static int wait_in_exchange(test_rank *m)
{
    return sbn_average_gradients(exchange_joined[m->rank], exchange_counts, TENSORS,
                                 exchange_of[m->rank].of);
}

static int again(test_rank *m)
{
    return m->rank == 0 ? rank_forward(m) : 0;
}

static int exchange_again(test_rank *m)
{
    return m->rank == 0 ? rank_says(m, wait_in_exchange(m)) : 0;
}

static void open_three(test_ranks *all, sbn_timeout_action action)
{
    const size_t ones[] = {1, 1, 1}, samples[] = {3, 2, 3};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.timeout = TIMEOUT;
    config.on_timeout = action;
    atomic_store(&here, 0);
    ranks_open(all, &device, 3, ones, samples, &config);
}

static void expect_status(const test_ranks *all, int rank, int status, const char *words,
                          const char *what)
{
    const char *reason = NULL;
    const int came = sbn_group_status(all->of[rank].group, &reason);
    tap_ok(came == status && holds_words(reason, words),
           "%s: the status of rank %d's group is %s (%s), got %s: %s", what, rank,
           sbn_strerror(status), words, sbn_strerror(came), reason);
    tap_ok(sbn_group_status(all->of[rank].group, NULL) == status, "%s: without a reason", what);
}

/* Rank 0 is aborted while it waits for rank 2, rank 1 waits for its timeout; nothing else changes. */
static void open_aborted(test_ranks *all, int (*wait)(test_rank *), sbn_timeout_action action,
                         const char *words, const char *what)
{
    open_three(all, action);
    if (wait == wait_in_exchange)
        ranks_do(all, exchange_join);
    wait_for = wait;
    ranks_reset(all);
    const uint64_t before = ranks_state(all);
    expect_status(all, 0, SBN_SUCCESS, "", "a new group");
    ranks_do(all, under_watch);
    rank_expect(&all->of[0], SBN_ABORTED, words, what);
    tap_ok(seconds_of[0] >= 0.2 && seconds_of[0] < TIMEOUT,
           "%s: rank 0 stops waiting before its timeout of %d s: %.1f s", what, TIMEOUT,
           seconds_of[0]);
    expect_status(all, 0, SBN_ABORTED, "sbn_group_abort was called", what);
    tap_ok(action == SBN_TIMEOUT_LOCAL || ranks_state(all) == before, "%s: nothing has changed",
           what);
}

static void check_pass(void)
{
    const char *what = "aborted in a pass";
    test_ranks all;
    open_aborted(&all, wait_in_pass, SBN_TIMEOUT_FAIL,
                 "rank 0: sbn_group_abort was called while it waited in forward of layer "
                 "\"first\" for rank 2",
                 what);
    tap_ok(other_status[0] == SBN_ABORTED, "%s: the other pass under way, too", what);
    rank_expect(&all.of[1], SBN_TIMEOUT, "rank 1 waited 1 s in forward of layer \"first\" for",
                "a rank whose group is not aborted");
    expect_status(&all, 1, SBN_TIMEOUT, "rank 1 waited 1 s", "timed out");
    expect_status(&all, 2, SBN_SUCCESS, "", "the rank that stayed away");
    ranks_do(&all, again);
    rank_expect(&all.of[0], SBN_GROUP_FAILED, "failed earlier|sbn_group_abort was called",
                "afterwards the group is dead");
    expect(sbn_evaluate(all.of[0].layer, all.of[0].shards), SBN_SUCCESS, "",
           "evaluation by running statistics goes on");
    ranks_close(&all);
}

/* A timeout leaves a rank its own statistics; an abort leaves it nothing. */
static void check_local(void)
{
    test_ranks all;
    open_aborted(&all, wait_in_pass, SBN_TIMEOUT_LOCAL, "sbn_group_abort was called",
                 "aborted where a timeout is local");
    rank_expect(&all.of[1], SBN_SUCCESS, "", "a rank that goes on alone");
    expect_status(&all, 1, SBN_SUCCESS, "rank 1 waited 1 s in forward",
                  "a group that timed out and lives");
    ranks_close(&all);
}

static void check_split(void)
{
    const char *what = "aborted in a split";
    test_ranks all;
    open_aborted(&all, wait_in_split, SBN_TIMEOUT_FAIL,
                 "rank 0: sbn_group_abort was called while it waited in sbn_group_split", what);
    rank_expect(&all.of[1], SBN_TIMEOUT, "rank 1 waited 1 s", what);
    ranks_close(&all);
}

static void check_exchange(void)
{
    const char *what = "aborted in an exchange";
    test_ranks all;
    open_aborted(&all, wait_in_exchange, SBN_TIMEOUT_FAIL,
                 "rank 0: sbn_group_abort was called while it waited in averaging of|for rank 2",
                 what);
    rank_expect(&all.of[1], SBN_TIMEOUT, "rank 1 waited 1 s in averaging of", what);
    ranks_do(&all, exchange_again);
    rank_expect(&all.of[0], SBN_GROUP_FAILED, "failed earlier|sbn_group_abort was called",
                "afterwards there are no exchanges");
    ranks_do(&all, exchange_leave);
    ranks_close(&all);
}

/* Nobody waits: the next call learns of it. */
static void check_alone(void)
{
    const size_t one[] = {1}, samples[] = {3};
    test_ranks all;
    ranks_open(&all, &device, 1, one, samples, NULL);
    test_rank *m = &all.of[0];
    must(sbn_data_parallel_create(m->group, NULL, &exchange_joined[0]), "sbn_data_parallel_create");
    tensors_open(&exchange_of[0], m);
    rank_forward(m);
    expect(m->status, SBN_SUCCESS, "", "alone, before");
    expect(sbn_group_abort(m->group), SBN_SUCCESS, "", "the abort");
    expect_status(&all, 0, SBN_ABORTED, "sbn_group_abort was called", "alone, at once");
    rank_forward(m);
    expect(m->status, SBN_GROUP_FAILED, "failed earlier: sbn_group_abort was called",
           "alone, the next pass");
    expect(wait_in_exchange(m), SBN_GROUP_FAILED, "failed earlier: sbn_group_abort was called",
           "alone, the next exchange");
    expect(wait_in_split(m), SBN_GROUP_FAILED, "failed earlier: sbn_group_abort was called",
           "alone, a split");
    expect_status(&all, 0, SBN_ABORTED, "sbn_group_abort was called", "alone, afterwards");
    expect(sbn_evaluate(m->layer, m->shards), SBN_SUCCESS, "", "alone, evaluation");
    exchange_leave(m);
    ranks_close(&all);
    const char *reason = "?";
    REFUSED(sbn_group_abort(NULL), "group|got NULL");
    REFUSED(sbn_group_status(NULL, &reason), "group|got NULL");
    tap_ok(*reason == '\0', "status: NULL: no reason");
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    check_alone();
    stalls_excuse(check_pass, 0.2);
    stalls_excuse(check_local, 0.2);
    stalls_excuse(check_split, 0.2);
    stalls_excuse(check_exchange, 0.2);
    fixture_close(&device);
    return tap_done();
}
