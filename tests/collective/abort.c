/*
 * A watchdog thread calls sbn_group_abort while the group's own thread waits for an absent rank: in
 * a pass, a split, as in sbn_data_parallel_create, and an exchange. The other ranks time out. Also
 * sbn_group_status of groups that work, that have failed, and that have been aborted.
 */
#include <pthread.h>

#include "base/clock.h"
#include "support/exchanges.h"
#include "support/refused.h"
#include "support/stalls.h"

static fixture device;

/* Of every group, in seconds. */
enum { TIMEOUT = 1 };

static double seconds_of_first;

/* Aborts rank 0's group while it waits. */
static void *watch(void *group)
{
    pause_for(0.3);
    return (void *)(intptr_t)sbn_group_abort(group);
}

/* What ranks 0 and 1 do, while rank 2 stays away; on rank 0 a watchdog aborts it. */
static int (*wait_for)(test_rank *);

static int under_watch(test_rank *m)
{
    pthread_t watchdog;
    void *aborted = NULL;
    if (m->rank == 1)
        return wait_for(m);
    must(pthread_create(&watchdog, NULL, watch, m->group), "pthread_create");
    const double since = sbn__seconds();
    wait_for(m);
    seconds_of_first = sbn__seconds() - since;
    must(pthread_join(watchdog, &aborted), "pthread_join");
    must((int)(intptr_t)aborted, "sbn_group_abort");
    return m->status;
}

static int wait_in_split(test_rank *m)
{
    const int colours[RANK_REPLICAS] = {0};
    sbn_group *parts[RANK_REPLICAS];
    return rank_says(m, sbn_group_split(m->group, colours, parts));
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
    ranks_open_three(all, &device, TIMEOUT, action);
    if (wait == exchange_average)
        ranks_do(all, exchange_join);
    wait_for = wait;
    ranks_reset(all);
    const uint64_t before = ranks_state(all);
    expect_status(all, 0, SBN_SUCCESS, "", "a new group");
    ranks_do_some(all, 3, under_watch);
    rank_expect(&all->of[0], SBN_ABORTED, words, what);
    tap_ok(seconds_of_first >= 0.2 && seconds_of_first < TIMEOUT,
           "%s: rank 0 stops waiting before its timeout of %d s: %.1f s", what, TIMEOUT,
           seconds_of_first);
    expect_status(all, 0, SBN_ABORTED, "sbn_group_abort was called", what);
    tap_ok(action == SBN_TIMEOUT_LOCAL || ranks_state(all) == before, "%s: nothing has changed",
           what);
}

static void check_pass(void)
{
    const char *what = "aborted in a pass";
    test_ranks all;
    open_aborted(&all, rank_forward_twice, SBN_TIMEOUT_FAIL,
                 "rank 0: sbn_group_abort was called while it waited in forward of layer "
                 "\"first\" for rank 2",
                 what);
    rank_expect(&all.of[1], SBN_TIMEOUT, "rank 1 waited 1 s in forward of layer \"first\" for",
                "a rank whose group is not aborted");
    expect_status(&all, 1, SBN_TIMEOUT, "rank 1 waited 1 s", "timed out");
    expect_status(&all, 2, SBN_SUCCESS, "", "the rank that stayed away");
    ranks_do_some(&all, 1, rank_forward);
    rank_expect(&all.of[0], SBN_GROUP_FAILED, "failed earlier|sbn_group_abort was called",
                "afterwards the group is dead");
    expect(sbn_evaluate(all.of[0].layer, all.of[0].shards), SBN_SUCCESS, "",
           "evaluation by running statistics goes on");
    ranks_do_some(&all, 4, rank_forward);
    rank_expect(&all.of[2], SBN_REMOTE_ERROR, "rank 0 called|reported SBN_ABORTED; rank 1 called",
                "the rank that comes later");
    ranks_close(&all);
}

/* A timeout leaves a rank its own statistics; an abort leaves it nothing. */
static void check_local(void)
{
    test_ranks all;
    open_aborted(&all, rank_forward_twice, SBN_TIMEOUT_LOCAL, "sbn_group_abort was called",
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
    open_aborted(&all, exchange_average, SBN_TIMEOUT_FAIL,
                 "rank 0: sbn_group_abort was called while it waited in averaging of|for rank 2",
                 what);
    rank_expect(&all.of[1], SBN_TIMEOUT, "rank 1 waited 1 s in averaging of", what);
    ranks_do_some(&all, 1, exchange_average);
    rank_expect(&all.of[0], SBN_GROUP_FAILED, "failed earlier|sbn_group_abort was called",
                "afterwards there are no exchanges");
    ranks_do(&all, exchange_leave);
    ranks_close(&all);
}

/* Nobody waits: the next call learns of it. */
static void check_alone(void)
{
    test_ranks all;
    ranks_open(&all, &device, 1, NULL, NULL, NULL);
    test_rank *m = &all.of[0];
    must(exchange_join(m), "sbn_data_parallel_create");
    rank_forward(m);
    expect(m->status, SBN_SUCCESS, "", "alone, before");
    expect(sbn_group_abort(m->group), SBN_SUCCESS, "", "the abort");
    expect_status(&all, 0, SBN_ABORTED, "sbn_group_abort was called", "alone, at once");
    rank_forward(m);
    expect(m->status, SBN_GROUP_FAILED, "failed earlier: sbn_group_abort was called",
           "alone, the next pass");
    expect(exchange_average(m), SBN_GROUP_FAILED, "failed earlier: sbn_group_abort was called",
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
