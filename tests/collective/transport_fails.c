/*
 * Groups whose transport fails on one rank: it is not called any more there, but to connect further parts of a
 * split. The others time out. Failures in exchanges: tests/parallel/timeout.
 */
#include "group/group.h"
#include "support/main.h"
#include "support/ranks.h"

/* Between one rank and the hub: its own, what has failed, and how often it was called behind that. */
static sbn_transport real;
static int failed, behind;

static sbn_transport *transport_of(test_ranks *all, int rank)
{
    sbn_transport *transport = &all->of[rank].group->communicator.transport;
    real = *transport;
    failed = behind = 0;
    return transport;
}

static int breaks(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    return -5;
}

/* One that cannot tell whether the header has come: its rank sends no sums, and is named. */
static void check_test(void)
{
    test_ranks all;
    ranks_open_waits(&all, &device, 3, NULL, 0.5, SBN_TIMEOUT_FAIL);
    transport_of(&all, 2)->test = breaks;
    ranks_do_some(&all, 7, rank_forward);
    rank_expect(&all.of[2], SBN_TRANSPORT_ERROR, "rank 2: the transport's test returned -5",
                "a transport that breaks");
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_TIMEOUT,
                    "waited 0.5 s in forward of layer \"first\" for rank 2", "the others");
    ranks_close(&all);
}

/* --- after a timeout, when a rank leaves word ------------------------------------------ */

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    behind += failed;
    failed = failed || tag == SBN_TAG_WORDS;
    return failed ? 77 : real.start(context, tag, words, count, request);
}

static int test(void *context, void *request, int *done)
{
    behind += failed;
    return real.test(context, request, done);
}

static int missing(void *context, void *request, int *ranks)
{
    behind += failed;
    return real.missing(context, request, ranks);
}

static void check_word(sbn_timeout_action action)
{
    static const char words[] = "rank 0: the transport's start returned 77";
    test_ranks all;
    ranks_open_waits(&all, &device, 2, NULL, 0.5, action);
    sbn_transport *transport = transport_of(&all, 0);
    transport->start = start;
    transport->test = test;
    transport->missing = missing;
    ranks_do_some(&all, 1, rank_forward);
    rank_expect(&all.of[0], SBN_TRANSPORT_ERROR, words,
                "a timeout, and a transport that fails then");
    const char *reason = NULL;
    const int status = sbn_group_status(all.of[0].group, &reason);
    tap_ok(status == SBN_TRANSPORT_ERROR && holds_words(reason, words),
           "the group's status: %s: %s", sbn_strerror(status), reason);
    ranks_do_some(&all, 1, rank_forward);
    rank_expect(&all.of[0], SBN_GROUP_FAILED, words, "the next pass");
    ranks_close(&all);
    tap_ok(failed && behind == 0, "the transport is called %d times behind the failure", behind);
}

/* --- a split into several parts -------------------------------------------------------- */

static int split(void *context, const int *ranks, int count, int number, sbn_transport *part)
{
    behind += failed++;
    return failed == 1 ? sbn_set_last_error(SBN_OUT_OF_MEMORY, "none for a part")
                       : real.split(context, ranks, count, number, part);
}

static int split_in_two(test_rank *m)
{
    static const int colours[] = {0, 1};
    sbn_group *parts[2];
    return rank_says(m, sbn_group_split(m->group, colours, parts));
}

/* Over MPI ranks of the second colour alone would wait for this rank in it, without a timeout. */
static void check_split(void)
{
    static const size_t replicas[] = {2, 2};
    test_ranks all;
    ranks_open_waits(&all, &device, 2, replicas, 0.5, SBN_TIMEOUT_FAIL);
    transport_of(&all, 1)->split = split;
    ranks_do_some(&all, 3, split_in_two);
    rank_expect(&all.of[0], SBN_TIMEOUT, "waited 0.5 s in sbn_group_split for rank 1", "the other");
    rank_expect(&all.of[1], SBN_OUT_OF_MEMORY,
                "rank 1: the transport's split returned|: none for a part", "no memory for a part");
    tap_ok(behind == 1, "the second part is connected: %d", behind);
    ranks_close(&all);
}

void checks_of_deadlines(void)
{
    check_test();
    check_word(SBN_TIMEOUT_FAIL);
    check_word(SBN_TIMEOUT_LOCAL);
    check_split();
}
