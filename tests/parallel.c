/*
 * Broadcast and averaging between members, threads over the in-memory transport
 * or ranks over MPI: the same bits as in one process, beside passes of batch
 * norm, several at once; and when members do not agree or a device fails, each
 * learns who did what, and the next exchange succeeds.
 */
#include <math.h>
#include <string.h>

#include "exchanges.h"
#include "handles.h"
#include "wraps.h"

static fixture device;
static size_t bucket_bytes = 4096, root;

static sbn_parallel *join(const member *m)
{
    sbn_parallel *parallel;
    sbn_parallel_config config = SBN_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = bucket_bytes;
    must(sbn_parallel_create(m->group, &config, &parallel), "sbn_parallel_create");
    return parallel;
}

/* Elements of the first replica, where this process has one. */
static float result[EXCHANGE_FLOATS];

static int exchange_once(member *m, int average)
{
    exchange_tensors t;
    sbn_parallel *parallel = join(m);
    tensors_open(&t, m);
    tensors_fill(&t, sbn_parallel_first(parallel));
    const int status = average ? sbn_average_gradients(parallel, exchange_counts, TENSORS, t.of)
                               : sbn_broadcast(parallel, exchange_counts, TENSORS, root, t.of);
    member_says(m, status);
    m->digest = tensors_digest(&t, m->rank == 0 ? result : NULL);
    for (size_t r = 0; r < m->replicas; ++r)
        m->status = m->status ? m->status : t.events[r] ? SBN_SUCCESS : 1;
    tensors_close(&t);
    sbn_parallel_destroy(parallel);
    return m->status;
}

static int average(member *m)
{
    return exchange_once(m, 1);
}

static int broadcast(member *m)
{
    return exchange_once(m, 0);
}

/* All members' digest, or 0 where they differ. */
static uint64_t common_digest(const members *all, const char *what)
{
    uint64_t digest = 0;
    int odd = 0;
    for (int rank = 0; rank < all->count; ++rank) {
        const member *m = &all->of[rank];
        odd += m->status != SBN_SUCCESS;
        if (m->replicas == 0)
            continue;
        odd += !m->digest || (digest && m->digest != digest);
        digest = m->digest;
    }
    tap_ok(!odd, "%s: all replicas have the same: %s", what, all->of[0].sentence);
    return odd ? 0 : digest;
}

static uint64_t exchange_over(int (*work)(member *), int count, const size_t *replicas,
                              const char *what)
{
    static const size_t samples[MEMBERS_MAX * MEMBER_REPLICAS];
    members all;
    members_open(&all, &device, count, replicas, samples, NULL);
    members_do(&all, work);
    const uint64_t digest = common_digest(&all, what);
    members_close(&all);
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
        worst = fmax(worst, fabs((double)result[i] - sum / 4) / bound);
    }
    members_share(0, &worst, sizeof worst);
    tap_ok(worst <= 1, "the mean of 4 replicas: the error is %.3f of the bound", worst);
}

static void check_bits(void)
{
    const size_t four[] = {4}, twos[] = {2, 2}, some[] = {3, 0, 1}, ones[] = {1, 1, 1, 1};
    bucket_bytes = (size_t)4 << 20;
    const uint64_t alone = exchange_over(average, 1, four, "averaged in one process");
    check_mean();
    bucket_bytes = 4096;
    tap_ok(exchange_over(average, 1, four, "small buckets") == alone,
           "small buckets: the same bits");
    tap_ok(exchange_over(average, 2, twos, "2 x 2") == alone, "2 x 2: the same bits");
    tap_ok(exchange_over(average, 3, some, "3, 0, 1") == alone, "3, 0, 1: the same bits");
    bucket_bytes = 9000;
    tap_ok(exchange_over(average, 4, ones, "4 x 1") == alone, "4 x 1: the same bits");
    for (unsigned seed = 1; seed <= 2; ++seed) {
        exchange_cut(seed);
        bucket_bytes = (size_t)4 << 20;
        const uint64_t other = exchange_over(average, 1, four, "other sizes, in one process");
        bucket_bytes = 4096 + 1000 * seed;
        tap_ok(other && exchange_over(average, 2, twos, "2 x 2") == other,
               "other sizes (%u), 2 x 2: the same bits", seed);
    }
    exchange_cut(0);
}

static uint64_t digest_of_replica(size_t replica)
{
    static _Thread_local float values[EXCHANGE_FLOATS];
    for (size_t i = 0; i < EXCHANGE_FLOATS; ++i)
        values[i] = exchange_value(replica, i);
    return digest_of(DIGEST_START, values, sizeof values);
}

static void check_broadcast(void)
{
    const size_t four[] = {4}, some[] = {1, 0, 3}, ones[] = {1, 1, 1, 1}, one[] = {1};
    for (root = 0; root < 4; root += 2) {
        const uint64_t expected = digest_of_replica(root);
        tap_ok(exchange_over(broadcast, 1, four, "in one process") == expected &&
                   exchange_over(broadcast, 3, some, "1, 0, 3") == expected &&
                   exchange_over(broadcast, 4, ones, "4 x 1") == expected,
               "the tensors of replica %d everywhere", (int)root);
    }
    root = 0;
    tap_ok(exchange_over(broadcast, 1, one, "one replica") == digest_of_replica(0),
           "one replica keeps its own");
    tap_ok(exchange_over(average, 1, one, "one replica") == digest_of_replica(0),
           "and is its own mean");
}

/* Two averagings and a broadcast are under way around the passes of batch norm, both ways. */
static int train_beside(member *m)
{
    enum { AT_ONCE = 3 };
    exchange_tensors t[AT_ONCE];
    sbn_exchange *exchanges[AT_ONCE];
    sbn_parallel *parallel = join(m);
    int status = SBN_SUCCESS, ready = 0;
    m->digest = 0;
    for (int i = 0; i < AT_ONCE; ++i) {
        tensors_open(&t[i], m);
        tensors_fill(&t[i], sbn_parallel_first(parallel));
    }
    for (int i = 0; i < AT_ONCE && !status; ++i)
        status = i == 1 ? sbn_broadcast_begin(parallel, exchange_counts, TENSORS, 2, t[i].of,
                                              &exchanges[i])
                        : sbn_average_gradients_begin(parallel, exchange_counts, TENSORS, t[i].of,
                                                      &exchanges[i]);
    if (!status)
        status = sbn_exchange_progress(exchanges[2], &ready);
    if (!status)
        status = member_train(m);
    /* The order of ends is another than that of begins. */
    static const int order[AT_ONCE] = {1, 0, 2};
    for (int i = 0; i < AT_ONCE && !status; ++i)
        status = sbn_exchange_end(exchanges[order[i]]);
    member_says(m, status);
    if (m->replicas > 0 && !status) {
        const uint64_t mean = tensors_digest(&t[0], NULL);
        m->digest = mean == tensors_digest(&t[2], NULL) &&
                            tensors_digest(&t[1], NULL) == digest_of_replica(2)
                        ? mean
                        : 0;
    }
    for (int i = 0; i < AT_ONCE; ++i)
        tensors_close(&t[i]);
    sbn_parallel_destroy(parallel);
    return status;
}

static void check_beside(void)
{
    const size_t ones[] = {1, 1, 1, 1}, some[] = {3, 0, 1}, four[] = {4}, even[] = {2, 2, 2, 2};
    const uint64_t mean = exchange_over(average, 1, four, "averaged alone");
    members all;
    members_open(&all, &device, 1, four, even, NULL);
    members_do(&all, member_train);
    const uint64_t trained = members_digest(&all);
    members_close(&all);
    for (int i = 0; i < 2; ++i) {
        const char *what = i ? "3, 0, 1, beside passes" : "4 x 1, beside passes";
        members_open(&all, &device, i ? 3 : 4, i ? some : ones, even, NULL);
        members_do(&all, train_beside);
        tap_ok(common_digest(&all, what) == mean, "%s: the mean has the same bits", what);
        tap_ok(members_digest(&all) == trained, "%s: batch norm has the same bits", what);
        members_close(&all);
    }
}

/* --- members that do not agree, and devices that fail ------------------------------ */

/* Kept from fault to fault: the same must go on. One per process, or thread. */
static sbn_parallel *kept[MEMBERS_MAX];
static exchange_tensors tensors[MEMBERS_MAX];

static int open_kept(member *m)
{
    kept[m->rank] = join(m);
    tensors_open(&tensors[m->rank], m);
    return SBN_SUCCESS;
}

static int close_kept(member *m)
{
    tensors_close(&tensors[m->rank]);
    sbn_parallel_destroy(kept[m->rank]);
    return SBN_SUCCESS;
}

static int begin_again(member *m)
{
    tensors_fill(&tensors[m->rank], sbn_parallel_first(kept[m->rank]));
    return SBN_SUCCESS;
}

static int say_untouched(member *m, int status)
{
    member_says(m, status);
    m->digest = (uint64_t)tensors_untouched(&tensors[m->rank], sbn_parallel_first(kept[m->rank]));
    return status;
}

static int right(member *m)
{
    exchange_tensors *t = &tensors[m->rank];
    for (size_t r = 0; r < m->replicas; ++r)
        if (t->events[r])
            clReleaseEvent(t->events[r]);
    return sbn_average_gradients(kept[m->rank], exchange_counts, TENSORS, t->of);
}

static int go_on(member *m)
{
    begin_again(m);
    member_says(m, right(m));
    m->digest = tensors_digest(&tensors[m->rank], NULL);
    return m->status;
}

static int wrong_sizes(member *m)
{
    size_t counts[TENSORS];
    memcpy(counts, exchange_counts, sizeof counts);
    counts[1] -= 10;
    counts[3] -= 10;
    begin_again(m);
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], counts, TENSORS, tensors[1].of));
}

/* The same number of floats, in other tensors; the buffers hold enough behind their offsets. */
static int swapped_sizes(member *m)
{
    size_t counts[TENSORS];
    memcpy(counts, exchange_counts, sizeof counts);
    begin_again(m);
    counts[1] = exchange_counts[3];
    counts[3] = exchange_counts[1];
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], counts, TENSORS, tensors[1].of));
}

static int wrong_number(member *m)
{
    begin_again(m);
    return say_untouched(m, m->rank != 1 ? right(m)
                                         : sbn_average_gradients(kept[1], exchange_counts, 2,
                                                                 tensors[1].of));
}

static int wrong_kind(member *m)
{
    begin_again(m);
    return say_untouched(m, m->rank != 1 ? right(m)
                                         : sbn_broadcast(kept[1], exchange_counts, TENSORS, 0,
                                                         tensors[1].of));
}

static int wrong_root(member *m)
{
    begin_again(m);
    return say_untouched(m, sbn_broadcast(kept[m->rank], exchange_counts, TENSORS,
                                          m->rank == 1 || m->rank == 3, tensors[m->rank].of));
}

static int no_tensors(member *m)
{
    begin_again(m);
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], exchange_counts, TENSORS, NULL));
}

static int short_buffer(member *m)
{
    size_t counts[TENSORS];
    memcpy(counts, exchange_counts, sizeof counts);
    counts[6] += 1000;
    begin_again(m);
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], counts, TENSORS, tensors[1].of));
}

static int marker_fails(member *m)
{
    begin_again(m);
    wraps_fail(WRAP_MARKER, m->rank == 1);
    const int status = right(m);
    wraps_fail(WRAP_MARKER, 0);
    return say_untouched(m, status);
}

/* The first copy fails: nothing has been exchanged yet. A later one: something has. */
static int read_fails_at(member *m, int n)
{
    begin_again(m);
    wraps_fail(WRAP_READ, m->rank == 1 ? n : 0);
    const int status = right(m);
    wraps_fail(WRAP_READ, 0);
    return say_untouched(m, status);
}

static int read_fails(member *m)
{
    return read_fails_at(m, 1);
}

static int late_read_fails(member *m)
{
    return read_fails_at(m, 6);
}

static const struct fault {
    int (*work)(member *);
    int own, others, touched;
    const char *own_words, *words, *what;
} disagreements[] = {
    {wrong_sizes, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0,
     "rank 1 began averaging of 7 tensors, 6129 floats|; ranks 0, 2, 3 began averaging of 7 "
     "tensors, 6149 floats",
     "rank 1 began averaging of 7 tensors, 6129 floats|; ranks 0, 2, 3 began", "other sizes"},
    {swapped_sizes, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0,
     "rank 1 began averaging of 7 tensors, 6149 floats (settings |; ranks 0, 2, 3 began averaging "
     "of 7 tensors, 6149 floats (settings ",
     "rank 1 began|; ranks 0, 2, 3 began", "as many floats in other tensors"},
    {wrong_number, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0,
     "rank 1 began averaging of 2 tensors, 3001 floats",
     "rank 1 began averaging of 2 tensors|; ranks 0, 2, 3 began averaging of 7", "fewer tensors"},
    {wrong_kind, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0, "rank 1 began broadcast of 7 tensors",
     "rank 1 began broadcast of 7 tensors|; ranks 0, 2, 3 began averaging", "another call"},
    {wrong_root, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0, "ranks 0, 2 began|ranks 1, 3 began",
     "ranks 0, 2 began|ranks 1, 3 began", "another root, on two ranks"},
    {no_tensors, SBN_INVALID_ARGUMENT, SBN_REMOTE_ERROR, 0, "replicas|NULL came",
     "rank 1 began averaging and reported SBN_INVALID_ARGUMENT", "no tensors"},
    {short_buffer, SBN_INVALID_ARGUMENT, SBN_REMOTE_ERROR, 0,
     "sbn_average_gradients: replica 0: tensor 6: 1070 floats",
     "rank 1 began averaging and reported SBN_INVALID_ARGUMENT", "a buffer too small"},
    {marker_fails, CL_OUT_OF_RESOURCES, SBN_REMOTE_ERROR, 0, "clEnqueueMarkerWithWaitList",
     "rank 1 began averaging and reported CL_OUT_OF_RESOURCES", "a marker fails"},
    {read_fails, CL_OUT_OF_RESOURCES, SBN_REMOTE_ERROR, 0,
     "replica 0: tensor 0: clEnqueueReadBuffer",
     "rank 1 reported CL_OUT_OF_RESOURCES in averaging of 7 tensors, 6149 floats",
     "the first copy fails"},
    {late_read_fails, CL_OUT_OF_RESOURCES, SBN_REMOTE_ERROR, 1,
     "replica 0: tensor |: clEnqueueReadBuffer",
     "rank 1 reported CL_OUT_OF_RESOURCES in averaging of 7 tensors, 6149 floats",
     "a later copy fails"},
};

static const struct fault *provoked;

static int provoke_and_go_on(member *m)
{
    provoked->work(m);
    return go_on(m);
}

static void check_fault(members *all, const struct fault *fault, uint64_t mean)
{
    provoked = fault;
    members_do(all, fault->work);
    for (int rank = 0; rank < all->count; ++rank) {
        const member *m = &all->of[rank];
        member_expect(m, rank == 1 ? fault->own : fault->others,
                      rank == 1 ? fault->own_words : fault->words, fault->what);
        tap_ok(m->digest == 1 || fault->touched, "%s: rank %d: nothing has changed", fault->what,
               rank);
    }
    members_do(all, go_on);
    tap_ok(common_digest(all, fault->what) == mean, "%s: the next averaging is right", fault->what);
    tap_ok(members_leave(all, provoke_and_go_on) == 0, "%s: nothing is left", fault->what);
}

/* Results cannot be written on rank 1: it says so, and what follows fails on all. */
static int write_fails(member *m)
{
    begin_again(m);
    wraps_fail(WRAP_WRITE, m->rank == 1);
    const int status = right(m);
    wraps_fail(WRAP_WRITE, 0);
    return member_says(m, status);
}

static void check_write(members *all)
{
    members_do(all, write_fails);
    /* Of several buckets any may have its sums first. */
    member_expect(&all->of[1], CL_OUT_OF_RESOURCES, "replica 0: tensor |: clEnqueueWriteBuffer",
                  "a result cannot be written");
    members_do(all, go_on);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == 1 ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                      rank == 1 ? "rank 1: an exchange failed earlier|clEnqueueWriteBuffer"
                                : "rank 1 began averaging and reported SBN_GROUP_FAILED",
                      "afterwards");
}

static void check_faults(void)
{
    const size_t ones[] = {1, 1, 1, 1}, even[] = {2, 2, 2, 2}, four[] = {4};
    bucket_bytes = 4096;
    const uint64_t mean = exchange_over(average, 1, four, "averaged alone");
    members all;
    members_open(&all, &device, 4, ones, even, NULL);
    members_do(&all, open_kept);
    members_do(&all, go_on);
    for (size_t i = 0; i < sizeof disagreements / sizeof *disagreements; ++i)
        check_fault(&all, &disagreements[i], mean);
    check_write(&all);
    members_do(&all, close_kept);
    /* The group itself knows nothing of all that. */
    members_do(&all, member_train);
    member_expect(&all.of[1], SBN_SUCCESS, "", "batch norm goes on");
    members_close(&all);
}

/* One member's configuration is wrong: nobody gets an sbn_parallel. */
static int wrong_config(member *m)
{
    sbn_parallel *parallel;
    sbn_parallel_config config = SBN_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = m->rank == 1 ? 4095 : 4096;
    member_says(m, sbn_parallel_create(m->group, &config, &parallel));
    m->digest = parallel == NULL;
    sbn_parallel_destroy(parallel);
    return m->status;
}

static void check_config(void)
{
    const size_t ones[] = {1, 1, 1}, even[] = {2, 2, 2};
    members all;
    members_open(&all, &device, 3, ones, even, NULL);
    members_do(&all, wrong_config);
    for (int rank = 0; rank < 3; ++rank) {
        member_expect(&all.of[rank], rank == 1 ? SBN_INVALID_ARGUMENT : SBN_REMOTE_ERROR,
                      rank == 1 ? "bucket_bytes: 4096 to |4095 came"
                                : "rank 1 called sbn_parallel_create and reported",
                      "a wrong configuration");
        tap_ok(all.of[rank].digest == 1, "rank %d: nothing is made", rank);
    }
    members_close(&all);
}

int main(int argc, char **argv)
{
    members_begin(&argc, &argv);
    if (fixture_open(&device))
        return members_end(fixture_missing());
    const long at_start = sbn_handles_open();
    check_bits();
    check_broadcast();
    check_beside();
    check_faults();
    check_config();
    tap_ok(sbn_handles_open() == at_start, "no handle is left open");
    fixture_close(&device);
    return members_end(tap_done());
}
