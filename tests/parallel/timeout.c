/*
 * Ranks that do not join an exchange, and transports that fail: the other ranks return with a sentence, and their
 * sbn_data_parallel has failed (what becomes of the group: tests/collective/hub_timeout). Waits for a rank's own
 * devices have no timeout. Passes move on in an exchange that waits.
 */
#include <pthread.h>
#include <stdio.h>

#include "parallel/parallel.h"
#include "support/exchanges.h"
#include "support/main.h"
#include "support/stalls.h"
#include "support/wraps.h"

/* Rank 1 has no replica and takes no part; ranks keep the numbers that they have in the group. */
static void check_absent(void)
{
    const size_t some[] = {1, 0, 1, 1};
    test_ranks all;
    ranks_open_waits(&all, &device, 4, some, 0.3, SBN_TIMEOUT_LOCAL);
    ranks_do(&all, exchange_join);
    ranks_do_some(&all, ~(1u << 2), exchange_average);
    for (int rank = 0; rank < 4; rank += 3)
        rank_expect(&all.of[rank], SBN_TIMEOUT,
                    "waited 0.3 s in averaging of 7 tensors, 6149 floats for rank 2", "absent");
    rank_expect(&all.of[1], SBN_SUCCESS, "", "a rank without replicas waits for nobody");
    ranks_do_some(&all, 1u << 2, exchange_average);
    rank_expect(&all.of[2], SBN_TIMEOUT, "rank 2 waited 0.3 s|for ranks 0, 3", "the late rank");
    ranks_do(&all, exchange_leave);
    ranks_close(&all);
}

/* --- a transport that breaks ------------------------------------------------------- */

/* Between rank 1 and the hub: the n-th start or test of the subgroup fails, and all calls behind it. */
static struct breaking {
    sbn_transport real;
    int fail_start, fail_test, failed;
} breaking;

static int fails(int *n)
{
    return breaking.failed += breaking.failed || --*n == 0;
}

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    return fails(&breaking.fail_start) ? 77
                                       : breaking.real.start(context, tag, words, count, request);
}

static int test(void *context, void *request, int *done)
{
    *done = 1;
    return fails(&breaking.fail_test) ? -5 : breaking.real.test(context, request, done);
}

static int split(void *context, const int *ranks, int count, int number, sbn_transport *subgroup)
{
    const int status = breaking.real.split(context, ranks, count, number, subgroup);
    breaking.real = *subgroup;
    subgroup->start = start;
    subgroup->test = test;
    return status;
}

static void check_breaking(int fail_start, int fail_test)
{
    test_ranks all;
    ranks_open_waits(&all, &device, 2, NULL, 0.3, SBN_TIMEOUT_FAIL);
    sbn_transport *transport = &all.of[1].group->communicator.transport;
    breaking = (struct breaking){*transport, fail_start, fail_test, 0};
    transport->split = split;
    ranks_do(&all, exchange_join);
    transport->split = breaking.real.split;
    const int made = exchange_joined[0] && exchange_joined[1];
    if (made)
        ranks_do_some(&all, 3, exchange_average);
    char words[64];
    snprintf(words, sizeof words, "rank 1: the transport's %s",
             fail_start ? "start returned 77" : "test returned -5");
    rank_expect(&all.of[1], SBN_TRANSPORT_ERROR, words, "the transport breaks");
    /* Before a test fails rank 1 may have sent all its words. What the hub may still write to is kept. */
    const test_rank *other = &all.of[0];
    const int late = other->status == SBN_TIMEOUT && holds_words(other->sentence, " for rank 1") &&
                     (!made || exchange_joined[0]->communicator.abandoned);
    tap_ok(late || (fail_test && other->status == SBN_SUCCESS), "the other one: %s: %s",
           sbn_strerror(other->status), other->sentence);
    if (made)
        expect(exchange_average(&all.of[1]), SBN_GROUP_FAILED, words, "afterwards it is dead");
    ranks_do(&all, exchange_leave);
    tap_ok(breaking.failed == 1, "its transport is not called any more");
    ranks_close(&all);
}

/* --- results that are not written --------------------------------------------------- */

/*
 * Rank 1 cannot write the result of the first exchange, whether its device refuses the command or fails in it, and
 * then waits in vain for rank 0 in the second one.
 */
static void check_unwritten(int refused)
{
    test_ranks all;
    sbn_exchange *first[2], *second;
    int ready = 0;
    ranks_open_waits(&all, &device, 2, NULL, 0.3, SBN_TIMEOUT_FAIL);
    ranks_do(&all, exchange_join);
    for (int rank = 0; rank < 2; ++rank)
        must(sbn_average_gradients_begin(exchange_joined[rank], exchange_counts, 1,
                                         exchange_of[rank].of, &first[rank]),
             "begin");
    must(sbn_average_gradients_begin(exchange_joined[1], exchange_counts, TENSORS,
                                     exchange_of[1].of, &second),
         "begin");
    while (exchange_joined[1]->buckets[0].stage != SBN_BUCKET_LEVELS)
        must(sbn_exchange_progress(first[1], NULL), "sbn_exchange_progress");
    while (exchange_joined[0]->buckets[0].stage != SBN_BUCKET_SUMS)
        must(sbn_exchange_progress(first[0], NULL), "sbn_exchange_progress");
    wraps_fail(WRAP_WRITE, refused);
    wraps_condemn(!refused);
    must(sbn_exchange_progress(first[1], &ready), "sbn_exchange_progress");
    tap_ok(ready && (refused ? wraps_failed == WRAP_WRITE : wraps_condemned != NULL),
           "all but the copy to the device is done");
    must(sbn_exchange_end(first[0]), "sbn_exchange_end");
    expect(sbn_exchange_end(second), SBN_TIMEOUT,
           "^rank 1 waited 0.3 s in averaging of 7 tensors, 6149 floats for rank 0",
           "an exchange behind one that is not written");
    expect(sbn_exchange_end(first[1]), CL_OUT_OF_RESOURCES,
           refused ? "clEnqueueWriteBuffer" : "a command failed on the device",
           "an exchange that is not written, after the timeout");
    wraps_condemn(0);
    ranks_do(&all, exchange_leave);
    ranks_close(&all);
}

/* --- beside passes ----------------------------------------------------------------- */

/* A pass begins behind an exchange, and fails on rank 0. */
static int begin_beside(test_rank *m)
{
    sbn_exchange *exchange;
    sbn_pass *pass;
    must(sbn_average_gradients_begin(exchange_joined[m->rank], exchange_counts, TENSORS,
                                     exchange_of[m->rank].of, &exchange),
         "begin");
    rank_says(m, sbn_forward_begin(m->layer, m->shards, m->rank ? m->saved : NULL, 0, &pass));
    const int status = sbn_exchange_end(exchange);
    if (m->rank)
        rank_says(m, sbn_pass_end(pass, NULL));
    return status ? rank_says(m, status) : m->status;
}

static void check_beside(void)
{
    test_ranks all;
    ranks_open_waits(&all, &device, 2, NULL, 2, SBN_TIMEOUT_FAIL);
    ranks_do(&all, exchange_join);
    ranks_do(&all, begin_beside);
    rank_expect(&all.of[0], SBN_INVALID_ARGUMENT, "saved", "a begin that fails beside an exchange");
    rank_expect(&all.of[1], SBN_REMOTE_ERROR, "rank 0 called forward|SBN_INVALID_ARGUMENT",
                "the other rank is told, whatever it waits in");
    ranks_do(&all, rank_train);
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_SUCCESS, "", "passes go on");
    ranks_do(&all, exchange_leave);
    ranks_close(&all);
}

/* --- this rank's own devices ------------------------------------------------------- */

static void *open_late(void *gate)
{
    pause_for(0.6);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    return gate;
}

/*
 * The copies back of the first averaging stand behind the second one's in the library's queue; from SECOND on
 * that one is alone.
 */
enum { BOTH, WRITE_FAILS, SECOND, READ_FAILS, READ_FAILED, WRITES_LATE };

static void check_own_devices(int way, const char *words)
{
    enum { REPLICAS = 2 };
    const test_rank rank = {.replicas = REPLICAS, .queue = fixture_queue(&device, 0)};
    const cl_command_queue queues[REPLICAS] = {rank.queue, fixture_queue(&device, 0)};
    const sbn_data_parallel_config config = {sizeof config, way == WRITES_LATE ? 4096 : 1 << 20};
    const size_t from = way >= SECOND;
    cl_int gate = CL_QUEUED;
    sbn_data_parallel *parallel;
    exchange_tensors t[2];
    sbn_exchange *exchanges[2];
    pthread_t opener;
    cl_event gates[2];
    sbn_group *group = GROUP_WITH(queues, .replicas = REPLICAS, .timeout = 0.3);
    must(sbn_data_parallel_create(group, &config, &parallel), "sbn_data_parallel_create");
    for (int i = 0; i < 2; ++i) {
        tensors_open(&t[i], &rank);
        tensors_fill(&t[i], 0);
        gates[i] = fixture_gate(&device);
        t[i].of[0].num_wait = 1;
        t[i].of[0].wait_list = &gates[way == WRITES_LATE ? 0 : i];
    }
    wraps_fail(WRAP_READ, way == READ_FAILS ? 2 : 0);
    for (size_t i = from; i < 2; ++i)
        expect(sbn_average_gradients_begin(parallel, exchange_counts, TENSORS, t[i].of,
                                           &exchanges[i]),
               SBN_SUCCESS, "", "begin");
    wraps_fail(WRAP_READ, 0);
    if (way <= SECOND)
        tap_ok(parallel->busy == 2 - from, "the copies of all have begun");
    if (way == WRITES_LATE)
        must(clEnqueueMarkerWithWaitList(parallel->replicas[0].transfer_queue, 1, &gates[1], NULL),
             "marker");
    pause_for(0.05);
    must(pthread_create(&opener, NULL, open_late, gates[1]), "pthread_create");
    if (way == READ_FAILED)
        wraps_condemn_event(parallel->buckets[parallel->oldest].copied[1]);
    must(sbn_exchange_progress(exchanges[1], NULL), "sbn_exchange_progress");
    must(clGetEventInfo(gates[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof gate, &gate, NULL),
         "clGetEventInfo");
    tap_ok(gate != CL_COMPLETE, "progress does not wait");
    must(clSetUserEventStatus(gates[0], CL_COMPLETE), "clSetUserEventStatus");
    if (!from)
        expect(sbn_exchange_end(exchanges[0]), SBN_SUCCESS, "", "the first averaging");
    const long asked = wraps_calls[WRAP_EVENT_INFO];
    wraps_condemn(way == WRITE_FAILS);
    expect(sbn_exchange_end(exchanges[1]), *words ? CL_OUT_OF_RESOURCES : SBN_SUCCESS, words,
           "one with input after the timeout");
    wraps_condemn(0);
    tap_ok(wraps_calls[WRAP_EVENT_INFO] - asked < 1000, "the driver waits: %ld questions",
           wraps_calls[WRAP_EVENT_INFO] - asked);
    must(clGetEventInfo(gates[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof gate, &gate, NULL),
         "clGetEventInfo");
    tap_ok(gate == CL_COMPLETE || way == WRITES_LATE, "no copy is left behind");
    sbn_data_parallel_destroy(parallel);
    must(pthread_join(opener, NULL), "pthread_join");
    for (int i = 0; i < 2; ++i) {
        tensors_close(&t[i]);
        clReleaseEvent(gates[i]);
    }
    sbn_group_destroy(group);
    for (int r = 0; r < REPLICAS; ++r)
        clReleaseCommandQueue(queues[r]);
}

void checks_of_deadlines(void)
{
    check_absent();
    check_own_devices(BOTH, "");
    check_own_devices(WRITE_FAILS, "a command failed on the device");
    check_own_devices(SECOND, "");
    check_own_devices(READ_FAILS, "clEnqueueReadBuffer");
    check_own_devices(READ_FAILED, "a command failed on the device");
    check_own_devices(WRITES_LATE, "");
    check_unwritten(0);
    check_unwritten(1);
    check_beside();
    /* The first is sbn_data_parallel_create's, then a header, levels, sums, ... */
    for (int n = 1; n <= 6; ++n)
        check_breaking(n, 0);
    check_breaking(16, 0);
    for (int n = 1; n <= 16; n += 5)
        check_breaking(0, n);
    exchange_bucket_bytes = 1 << 20; /* one bucket */
    check_breaking(4, 0);
    exchange_bucket_bytes = 4096;
}
