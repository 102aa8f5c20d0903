/*
 * Requests to other ranks, without passes: many at once, deadlines, memory that runs out. Communicators of one hub,
 * used by one thread. Ranks that do not come: hub_timeout.c; transports that fail: transport_fails.c.
 */
#include <string.h>

#include "base/clock.h"
#include "collective/request.h"
#include "support/fixture.h"
#include "support/stalls.h"
#include "support/wraps.h"

enum { RANKS = 2, MOST = 4, WORDS = 3 };

static sbn_hub *hub;
static sbn_communicator joined[MOST];
static int ranks;

static void open_ranks(int count, double timeout)
{
    ranks = count;
    must(sbn_hub_create(count, &hub), "sbn_hub_create");
    for (int rank = 0; rank < count; ++rank) {
        sbn_transport transport = SBN_TRANSPORT_INIT;
        must(sbn_hub_transport(hub, rank, &transport), "sbn_hub_transport");
        sbn__communicator_open(&joined[rank], &transport, timeout, SBN_TIMEOUT_FAIL);
    }
}

static void close_ranks(void)
{
    for (int rank = 0; rank < ranks; ++rank)
        sbn__communicator_close(&joined[rank]);
    sbn_hub_destroy(hub);
}

/* Of words from `first` on. */
static void start(int rank, sbn_request *request, int tag, int64_t first)
{
    must(sbn__request_reserve(request, WORDS, "a test"), "sbn__request_reserve");
    for (int i = 0; i < WORDS; ++i)
        request->words[i] = first + i;
    must(sbn__request_start(&joined[rank], request, tag, WORDS), "sbn__request_start");
}

/* --- deadlines ------------------------------------------------------------------------ */

/* Every pass that may be under way has a request, again and again. Sums wrap. */
static void check_ahead(void)
{
    enum { AHEAD = SBN_MAX_PASSES };
    static sbn_request requests[RANKS][AHEAD];
    int wrong = 0, done;
    open_ranks(RANKS, 60);
    for (int n = 0; n < 3; ++n) {
        for (int rank = 0; rank < RANKS; ++rank)
            for (int i = 0; i < AHEAD; ++i)
                start(rank, &requests[rank][i], SBN_TAG_WORDS, INT64_MAX - 2 - i);
        for (int rank = 0; rank < RANKS; ++rank)
            for (int i = AHEAD; i-- > 0;) {
                must(sbn__request_poll(&joined[rank], &requests[rank][i], &done), "poll");
                wrong += !done || requests[rank][i].words[0] != -6 - 2 * i;
                sbn__request_free(&requests[rank][i]);
            }
    }
    tap_ok(!wrong, "%d requests at once: %d wrong", AHEAD, wrong);
    /* A rank too far ahead, and one that sends another number of words. */
    int64_t words[2] = {0};
    int started = 0, status[RANKS] = {0};
    for (int rank = 0; rank < RANKS; ++rank) {
        const sbn_transport *t = &joined[rank].transport;
        for (void *handle; started < 1000 && !status[rank]; started += !status[rank])
            status[rank] = t->start(t->context, 1, words, 1 + (size_t)rank, &handle);
    }
    tap_ok(started == 128 && status[0] && status[1], "requests under way: %d of 128", started);
    close_ranks();
}

/* A request that completes, whichever, is a sign of life. */
static void check_life(void)
{
    sbn_request waited = {0}, other[RANKS] = {{0}};
    int done;
    open_ranks(RANKS, 1);
    joined[0].completed = 1; /* one has before */
    start(0, &waited, SBN_TAG_WORDS, 0);
    sbn_deadline deadline = sbn__deadline_start(&joined[0]);
    pause_for(0.7);
    tap_ok(!sbn__deadline_passed(&joined[0], &deadline, &waited), "after 0.7 s of 1");
    for (int rank = 0; rank < RANKS; ++rank)
        start(rank, &other[rank], SBN_TAG_HEADER, 0);
    must(sbn__request_poll(&joined[0], &other[0], &done), "poll");
    const atomic_int aborted = 1;
    joined[0].abort_flag = &aborted;
    tap_ok(sbn__deadline_passed(&joined[0], &deadline, &waited), "another completes, but an abort");
    joined[0].abort_flag = NULL;
    tap_ok(done && !sbn__deadline_passed(&joined[0], &deadline, &waited), "another completes");
    pause_for(0.5);
    tap_ok(!sbn__deadline_passed(&joined[0], &deadline, &waited), "0.5 s after that");
    pause_for(0.6);
    tap_ok(sbn__deadline_passed(&joined[0], &deadline, &waited), "1.1 s after that");
    sbn__request_abandon(&joined[0], &waited);
    sbn__communicator_sweep(&joined[0]);
    tap_ok(joined[0].abandoned != NULL, "what is not complete is kept");
    must(sbn__request_poll(&joined[1], &other[1], &done), "poll");
    for (int rank = 0; rank < RANKS; ++rank)
        sbn__request_free(&other[rank]);
    close_ranks();
}

/* A process that does not run for a while, as one that a signal stops, does not wait meanwhile. */
static void check_stopped(void)
{
    sbn_request waited = {0};
    open_ranks(RANKS, 1.5);
    start(0, &waited, SBN_TAG_WORDS, 0);
    sbn_deadline deadline = sbn__deadline_start(&joined[0]);
    pause_for(2);
    tap_ok(!sbn__deadline_passed(&joined[0], &deadline, &waited), "stopped for 2 s of 1.5");
    pause_for(0.9);
    tap_ok(sbn__deadline_passed(&joined[0], &deadline, &waited), "0.9 s after that");
    sbn__request_abandon(&joined[0], &waited);
    close_ranks();
}

/* --- ranks that nobody joins ----------------------------------------------------------- */

static int asked, named; /* how often, and how many ranks the answers name */
static double asked_at[4];

/* The first answer names ranks 1 and 2, the second one 2 and 3; or both name nobody. */
static int missing(void *context, void *request, int *late)
{
    (void)context, (void)request;
    if (asked < 4)
        asked_at[asked] = sbn__seconds();
    late[0] = 2;
    late[1] = asked++ ? 3 : 1;
    return named;
}

/* Asked before the timeout is over, and then: the second answer counts. Some know nothing. */
static void check_asking(int knows_missing)
{
    sbn_request request = {0};
    open_ranks(MOST, 1.6);
    joined[0].transport.missing = knows_missing ? missing : NULL;
    asked = 0;
    named = 2;
    start(0, &request, SBN_TAG_WORDS, 0);
    const double from = sbn__seconds();
    expect(sbn__request_wait(&joined[0], &request, "a test"), SBN_TIMEOUT,
           knows_missing ? "waited 1.6 s in a test for ranks 2, 3"
                         : "waited 1.6 s in a test for the other ranks",
           "who is missing");
    if (knows_missing) {
        tap_ok(asked == 2 && asked_at[0] - from > 0.8 && asked_at[1] - from >= 1.6,
               "asked %d times, first after %g s, last after %g s", asked, asked_at[0] - from,
               asked_at[1] - from);
        tap_ok(asked_at[0] - from < 1.5, "there is time for answers before the timeout is over");
    }
    close_ranks();
}

static void check_memory(void)
{
    sbn_request request = {0};
    open_ranks(RANKS, 1);
    must(sbn__request_reserve(&request, WORDS, "a test"), "sbn__request_reserve");
    request.words[2] = 9;
    expect(WITH_FAILURE(WRAP_ALLOCATE, 1, sbn__request_reserve(&request, 100, "a test")),
           SBN_OUT_OF_MEMORY, "no memory left for a test", "no memory for more words");
    tap_ok(request.capacity == WORDS && request.words && request.words[2] == 9,
           "the room that it had is kept, to tell the others");
    sbn__request_free(&request);
    expect(sbn__communicator_die_of_memory(&joined[0], "a test"), SBN_OUT_OF_MEMORY,
           "rank 0: the host has no memory left for a test, nor to tell the other ranks",
           "no memory to tell the others");
    joined[0].transport.world_size = 1;
    tap_ok(!sbn__communicator_is_joined(&joined[0]), "one rank has no others");
    joined[1].on_timeout = SBN_TIMEOUT_LOCAL;
    sbn__communicator_fail(&joined[1], sbn__fail(SBN_OUT_OF_MEMORY, "a device failed"));
    sbn__communicator_part(&joined[1], sbn__fail(SBN_TIMEOUT, "a rank is late"));
    expect(sbn__communicator_check(&joined[1], "the group"), SBN_GROUP_FAILED,
           "failed earlier: a device failed", "a timeout behind a failure");
    close_ranks();
}

static int test_fails(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    return -5;
}

static int start_fails(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)context, (void)tag, (void)words, (void)count, (void)request;
    return 77;
}

static void end_says(void *context)
{
    (void)context;
    sbn_set_last_error(SBN_SUCCESS, "of the end");
}

/* A sentence is of its own call alone. */
static void check_sentences(void)
{
    sbn_request request = {0};
    int done;
    open_ranks(RANKS, 1);
    named = 0;
    joined[0].transport.missing = missing;
    joined[0].transport.test = test_fails;
    joined[0].transport.end = end_says;
    joined[1].transport.start = start_fails;
    start(0, &request, SBN_TAG_WORDS, 0);
    expect(sbn__communicator_time_out(&joined[0], &request, "a test"), SBN_TIMEOUT,
           "waited 1 s in a test for a sum that all ranks have begun", "nobody is missing");
    expect(sbn__request_poll(&joined[0], &request, &done), SBN_TRANSPORT_ERROR, "test returned -5",
           "a test that fails");
    tap_ok(!strstr(sbn_last_error(), "waited"), "without another call's: %s", sbn_last_error());
    expect(sbn__request_start(&joined[1], &request, SBN_TAG_WORDS, WORDS), SBN_TRANSPORT_ERROR,
           "start returned 77", "a start that fails");
    tap_ok(!strstr(sbn_last_error(), "-5"), "without another call's: %s", sbn_last_error());
    close_ranks();
    tap_ok(strstr(sbn_last_error(), "77") != NULL, "an end changes it: %s", sbn_last_error());
}

static void check_deadlines(void)
{
    check_life();
    check_stopped();
    check_asking(1);
    check_asking(0);
}

int main(void)
{
    /* Words that a transport may still write stay allocated. */
    expect_leaks();
    check_ahead();
    stalls_excuse(check_deadlines);
    check_memory();
    check_sentences();
    return tap_done();
}
