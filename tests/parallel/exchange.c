/*
 * Broadcast and averaging between ranks, threads over the in-memory transport
 * or ranks over MPI: the same bits as in one process, beside passes of batch
 * norm, several at once; how many words they send. Their order among other commands: tests/pass/any_order.sh.
 */
#include <math.h>

#include "parallel/bucket.h"
#include "parallel/check.h"
#include "support/exchanges.h"
#include "support/main.h"

typedef enum kind { BROADCAST, AVERAGE } kind;

static kind wanted;
static size_t root;

/* Elements of the first replica, where this process has one. */
static float result[EXCHANGE_FLOATS];

static int exchange_once(test_rank *m)
{
    exchange_join(m);
    exchange_tensors *t = &exchange_of[m->rank];
    sbn_data_parallel *parallel = exchange_joined[m->rank];
    const sbn_tensors *of = m->replicas ? t->of : NULL;
    tensors_fill(t, sbn_data_parallel_first(parallel));
    rank_says(m, wanted == AVERAGE ? sbn_average_gradients(parallel, exchange_counts, TENSORS, of)
                                   : sbn_broadcast(parallel, exchange_counts, TENSORS, root, of));
    m->digest = tensors_digest(t, m->rank == 0 ? result : NULL);
    for (size_t r = 0; r < m->replicas; ++r)
        m->status = m->status ? m->status : t->events[r] ? SBN_SUCCESS : 1;
    exchange_leave(m);
    return m->status;
}

static uint64_t exchange_over(kind of, int count, const size_t *replicas, const char *what)
{
    static const size_t samples[RANKS_MAX * RANK_REPLICAS];
    test_ranks all;
    ranks_open(&all, &device, count, replicas, samples, NULL);
    wanted = of;
    ranks_do(&all, exchange_once);
    const uint64_t digest = exchanges_digest(&all, what);
    ranks_close(&all);
    return digest;
}

static void check_mean(void)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < EXCHANGE_FLOATS; ++i)
        for (size_t r = 0; r < 4; ++r)
            largest = fmax(largest, fabs((double)exchange_value(r, i)));
    for (size_t i = 0; i < EXCHANGE_FLOATS; ++i) {
        double sum = 0;
        for (size_t r = 0; r < 4; ++r)
            sum += (double)exchange_value(r, i);
        const double bound = largest * 0x1p-43 + fabs(sum / 4) * 0x1.01p-24;
        const double off = fabs((double)result[i] - sum / 4) / bound;
        worst = isnan(off) ? INFINITY : fmax(worst, off);
    }
    ranks_broadcast(0, &worst, sizeof worst);
    tap_ok(worst <= 1, "the mean of 4 replicas: the error is %.3f of the bound", worst);
}

static void check_bits(void)
{
    const size_t four[] = {4}, twos[] = {2, 2}, some[] = {3, 0, 1}, ones[] = {1, 1, 1, 1};
    exchange_bucket_bytes = (size_t)4 << 20;
    const uint64_t alone = exchange_over(AVERAGE, 1, four, "averaged in one process");
    check_mean();
    exchange_bucket_bytes = 4096;
    tap_ok(exchange_over(AVERAGE, 1, four, "small buckets") == alone, "small buckets: same bits");
    tap_ok(exchange_over(AVERAGE, 2, twos, "2 x 2") == alone, "2 x 2: the same bits");
    tap_ok(exchange_over(AVERAGE, 3, some, "3, 0, 1") == alone, "3, 0, 1: the same bits");
    exchange_bucket_bytes = 12032;
    tap_ok(exchange_over(AVERAGE, 1, four, "a cut") == alone, "a cut behind whole ones: same bits");
    exchange_bucket_bytes = 9000;
    tap_ok(exchange_over(AVERAGE, 4, ones, "4 x 1") == alone, "4 x 1: the same bits");
}

static uint64_t digest_of_replica(size_t replica)
{
    static _Thread_local float values[EXCHANGE_FLOATS];
    for (size_t i = 0; i < EXCHANGE_FLOATS; ++i)
        values[i] = exchange_value(replica, i);
    return sbn__digest(SBN_DIGEST_START, values, sizeof values);
}

static void check_broadcast(void)
{
    const size_t four[] = {4}, some[] = {1, 0, 3}, ones[] = {1, 1, 1, 1}, one[] = {1};
    for (root = 0; root < 4; root += 2) {
        const uint64_t expected = digest_of_replica(root);
        tap_ok(exchange_over(BROADCAST, 1, four, "in one process") == expected &&
                   exchange_over(BROADCAST, 3, some, "1, 0, 3") == expected &&
                   exchange_over(BROADCAST, 4, ones, "4 x 1") == expected,
               "the tensors of replica %d everywhere", (int)root);
    }
    root = 0;
    tap_ok(exchange_over(BROADCAST, 1, one, "one replica") == digest_of_replica(0),
           "one replica keeps its own");
    tap_ok(exchange_over(AVERAGE, 1, one, "one replica") == digest_of_replica(0), "its own mean");
}

/* Two averagings and a broadcast are under way around the passes of batch norm, both ways. */
static int train_beside(test_rank *m)
{
    enum { AT_ONCE = 3 };
    exchange_tensors t[AT_ONCE];
    sbn_exchange *exchanges[AT_ONCE];
    exchange_join(m);
    sbn_data_parallel *parallel = exchange_joined[m->rank];
    int ready = 0;
    for (int i = 0; i < AT_ONCE; ++i) {
        tensors_open(&t[i], m);
        tensors_fill(&t[i], sbn_data_parallel_first(parallel));
    }
    for (int i = 0; i < AT_ONCE; ++i)
        must(i == 1 ? sbn_broadcast_begin(parallel, exchange_counts, TENSORS, 2, t[i].of,
                                          &exchanges[i])
                    : sbn_average_gradients_begin(parallel, exchange_counts, TENSORS, t[i].of,
                                                  &exchanges[i]),
             "begin");
    must(sbn_exchange_progress(exchanges[2], &ready), "sbn_exchange_progress");
    must(rank_train(m), "training");
    /* The order of ends is another than that of begins. */
    static const int order[AT_ONCE] = {1, 0, 2};
    for (int i = 0; i < AT_ONCE; ++i)
        must(sbn_exchange_end(exchanges[order[i]]), "sbn_exchange_end");
    const uint64_t mean = tensors_digest(&t[0], NULL);
    const int right = mean == tensors_digest(&t[2], NULL) &&
                      tensors_digest(&t[1], NULL) == (m->replicas ? digest_of_replica(2) : 0);
    m->digest = right ? mean : 0;
    for (int i = 0; i < AT_ONCE; ++i)
        tensors_close(&t[i]);
    exchange_leave(m);
    return SBN_SUCCESS;
}

static void check_beside(void)
{
    const size_t ones[] = {1, 1, 1, 1}, some[] = {3, 0, 1}, four[] = {4}, even[] = {2, 2, 2, 2};
    const uint64_t mean = exchange_over(AVERAGE, 1, four, "averaged alone");
    const uint64_t trained = ranks_digest_of(&device, 1, four, even, rank_train, "trained alone");
    test_ranks all;
    for (int i = 0; i < 2; ++i) {
        const char *what = i ? "3, 0, 1, beside passes" : "4 x 1, beside passes";
        ranks_open(&all, &device, i ? 3 : 4, i ? some : ones, even, NULL);
        ranks_do(&all, train_beside);
        tap_ok(exchanges_digest(&all, what) == mean, "%s: the mean has the same bits", what);
        tap_ok(ranks_digest(&all) == trained, "%s: batch norm has the same bits", what);
        ranks_close(&all);
    }
}

/*
 * Commands that are enqueued after the beginning of an exchange neither wait for it nor delay it; one that is
 * begun behind them is not ready, and its call returns, though it needs more memory. The first exchange has one
 * element, the second one all others.
 */
static void check_held_queue(int both)
{
    const test_rank rank = {.replicas = 2, .queue = queue};
    const uint64_t mean = exchange_over(AVERAGE, 1, &rank.replicas, "two replicas");
    sbn_group *group = fixture_group(queue, rank.replicas, SBN_FORM_AUTO);
    sbn_data_parallel *parallel;
    sbn_exchange *first, *second;
    exchange_tensors t;
    cl_event gate = fixture_gate(&device);
    int ready = 0, behind = 1;
    must(sbn_data_parallel_create(group, NULL, &parallel), "sbn_data_parallel_create");
    tensors_open(&t, &rank);
    tensors_fill(&t, 0);
    const sbn_tensors others[] = {{.size = sizeof *others, .buffers = t.buffers[0] + 1},
                                  {.size = sizeof *others, .buffers = t.buffers[1] + 1}};
    for (int i = 0; i < 2; ++i)
        must(i == both ? sbn_average_gradients_begin(parallel, exchange_counts, 1, t.of, &first)
                       : clEnqueueMarkerWithWaitList(queue, 1, &gate, NULL),
             "begin, or clEnqueueMarkerWithWaitList");
    must(sbn_average_gradients_begin(parallel, exchange_counts + 1, TENSORS - 1, others, &second),
         "begin");
    for (long i = 0; i < 100000000 && !ready && !both; ++i)
        must(sbn_exchange_progress(first, &ready), "sbn_exchange_progress");
    tap_ok(ready || both, "an averaging comes to its end while the queue is held");
    must(sbn_exchange_progress(second, &behind), "sbn_exchange_progress");
    tap_ok(!behind, "one that waits for the queue does not");
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(sbn_exchange_end(first), "sbn_exchange_end");
    must(sbn_exchange_end(second), "sbn_exchange_end");
    tap_ok(tensors_digest(&t, NULL) == mean, "the bits of one averaging");
    tensors_close(&t);
    clReleaseEvent(gate);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
}

/*
 * An event of a wait list that fails between the begin of an exchange and its copies, which other exchanges delay:
 * PoCL 3.1 never runs a copy that waits for it. The next exchange succeeds.
 */
static void check_failed_event(void)
{
    const test_rank rank = {.replicas = 2, .queue = queue};
    sbn_group *group = fixture_group(queue, rank.replicas, SBN_FORM_AUTO);
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_data_parallel *parallel;
    sbn_exchange *first, *second;
    exchange_tensors t;
    cl_event held = fixture_gate(&device), failing = fixture_gate(&device);
    config.bucket_bytes = 4096;
    must(sbn_data_parallel_create(group, &config, &parallel), "sbn_data_parallel_create");
    tensors_open(&t, &rank);
    tensors_fill(&t, 0);
    sbn_tensors waiting[] = {t.of[0], t.of[1]};
    waiting[0].num_wait = 1;
    waiting[0].wait_list = &held;
    must(sbn_average_gradients_begin(parallel, exchange_counts, TENSORS, waiting, &first), "begin");
    waiting[0].wait_list = &failing;
    must(sbn_average_gradients_begin(parallel, exchange_counts, 1, waiting, &second), "begin");
    must(clSetUserEventStatus(held, CL_COMPLETE), "clSetUserEventStatus");
    must(clSetUserEventStatus(failing, CL_OUT_OF_RESOURCES), "clSetUserEventStatus");
    must(sbn_exchange_end(first), "sbn_exchange_end");
    const int status = sbn_exchange_end(second);
    tap_ok(status < 0 && status > SBN_INVALID_ARGUMENT, "OpenCL's error: %s", sbn_last_error());
    tap_ok(!sbn_average_gradients(parallel, exchange_counts, TENSORS, t.of), "and none then: %s",
           sbn_last_error());
    tensors_close(&t);
    clReleaseEvent(held);
    clReleaseEvent(failing);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
}

/*
 * The same where nothing is copied, as there is one replica, or as tensors have no elements. Where the end does not
 * know of it yet, the event that is given fails.
 */
static void check_failed_event_alone(size_t replicas)
{
    const size_t counts[] = {replicas > 1 ? 0 : exchange_counts[0]};
    const test_rank rank = {.replicas = replicas, .queue = queue};
    sbn_group *group = fixture_group(queue, replicas, SBN_FORM_AUTO);
    sbn_data_parallel *parallel;
    sbn_exchange *exchange;
    exchange_tensors t;
    cl_event failing = fixture_gate(&device), event = NULL;
    must(sbn_data_parallel_create(group, NULL, &parallel), "sbn_data_parallel_create");
    tensors_open(&t, &rank);
    tensors_fill(&t, 0);
    sbn_tensors waiting[] = {t.of[0], t.of[replicas - 1]};
    waiting[0].num_wait = 1;
    waiting[0].wait_list = &failing;
    waiting[0].event = &event;
    must(sbn_average_gradients_begin(parallel, counts, 1, waiting, &exchange), "begin");
    must(clSetUserEventStatus(failing, CL_OUT_OF_RESOURCES), "clSetUserEventStatus");
    const int status = sbn_exchange_end(exchange);
    const int told = status < 0 && status > SBN_INVALID_ARGUMENT && !event;
    tap_ok(told || (!status && clWaitForEvents(1, &event) != CL_SUCCESS),
           "%zu replicas, nothing to copy: OpenCL's error: %s", replicas, sbn_last_error());
    events_release(&event, 1);
    tap_ok(!sbn_average_gradients(parallel, counts, 1, t.of), "and none then: %s",
           sbn_last_error());
    tensors_close(&t);
    clReleaseEvent(failing);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
}

/* A word of a bucket's levels has the statuses of four ranks. */
static void check_words(void)
{
    int wrong = 0;
    for (int ranks = 1; ranks < 10; ++ranks) {
        sbn_data_parallel of = {.communicator.transport.world_size = ranks};
        wrong += sbn__status_words(&of) != (ranks > 8 ? 3 : ranks > 4 ? 2 : 1);
        int64_t words[4] = {0};
        words[sbn__status_words(&of)] = 1; /* a level */
        wrong += sbn__status_read(&(sbn_exchange){.parallel = &of}, words) != SBN_SUCCESS;
    }
    tap_ok(!wrong, "words for the statuses of 1 to 9 ranks: %d wrong", wrong);
    sbn_exchange e = {0};
    for (size_t i = 0; i < 9; ++i)
        wrong += sbn__bucket_sum_words(&(sbn_bucket){.exchange = &e, .floats = i}) != i / 2 + i % 2;
    tap_ok(!wrong, "two floats in a word: %d wrong", wrong);
}

void checks(void)
{
    check_words();
    check_bits();
    check_broadcast();
    check_beside();
    check_held_queue(0);
    check_held_queue(1);
    check_failed_event();
    check_failed_event_alone(1);
    check_failed_event_alone(2);
}
