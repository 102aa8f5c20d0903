/*
 * Ranks that do not agree on an exchange of tensors, and devices that fail in
 * it: each rank learns who did what, nothing has changed where that is
 * promised, and the next exchange succeeds. Threads over the in-memory
 * transport, or ranks over MPI.
 */
#include <string.h>

#include "support/exchanges.h"
#include "support/wraps.h"

static fixture device;

/* Kept from fault to fault: the same must go on. One per process, or thread. */
static sbn_data_parallel *kept[RANKS_MAX];
static exchange_tensors tensors[RANKS_MAX];

static int open_kept(test_rank *m)
{
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = 4096;
    must(sbn_data_parallel_create(m->group, &config, &kept[m->rank]), "sbn_data_parallel_create");
    tensors_open(&tensors[m->rank], m);
    return SBN_SUCCESS;
}

static int close_kept(test_rank *m)
{
    tensors_close(&tensors[m->rank]);
    sbn_data_parallel_destroy(kept[m->rank]);
    return SBN_SUCCESS;
}

static int begin_again(test_rank *m)
{
    tensors_fill(&tensors[m->rank], sbn_data_parallel_first(kept[m->rank]));
    return SBN_SUCCESS;
}

static int say_untouched(test_rank *m, int status)
{
    rank_says(m, status);
    m->digest = (uint64_t)tensors_untouched(&tensors[m->rank],
                                            sbn_data_parallel_first(kept[m->rank]));
    return status;
}

static int right(test_rank *m)
{
    exchange_tensors *t = &tensors[m->rank];
    for (size_t r = 0; r < m->replicas; ++r)
        if (t->events[r])
            clReleaseEvent(t->events[r]);
    return sbn_average_gradients(kept[m->rank], exchange_counts, TENSORS, t->of);
}

static int go_on(test_rank *m)
{
    begin_again(m);
    rank_says(m, right(m));
    m->digest = tensors_digest(&tensors[m->rank], NULL);
    return m->status;
}

static int wrong_sizes(test_rank *m)
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

/* The same number of floats, in other tensors; the first one has room for two more behind it. */
static int moved_sizes(test_rank *m)
{
    size_t counts[TENSORS];
    memcpy(counts, exchange_counts, sizeof counts);
    begin_again(m);
    counts[0] += 2;
    counts[5] -= 2;
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], counts, TENSORS, tensors[1].of));
}

static int wrong_number(test_rank *m)
{
    begin_again(m);
    return say_untouched(m, m->rank != 1 ? right(m)
                                         : sbn_average_gradients(kept[1], exchange_counts, 2,
                                                                 tensors[1].of));
}

static int wrong_kind(test_rank *m)
{
    begin_again(m);
    return say_untouched(m, m->rank != 1 ? right(m)
                                         : sbn_broadcast(kept[1], exchange_counts, TENSORS, 0,
                                                         tensors[1].of));
}

static int wrong_root(test_rank *m)
{
    begin_again(m);
    return say_untouched(m, sbn_broadcast(kept[m->rank], exchange_counts, TENSORS,
                                          m->rank == 1 || m->rank == 3, tensors[m->rank].of));
}

static int no_tensors(test_rank *m)
{
    begin_again(m);
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], exchange_counts, TENSORS, NULL));
}

static int short_buffer(test_rank *m)
{
    size_t counts[TENSORS];
    memcpy(counts, exchange_counts, sizeof counts);
    counts[6] += 1000;
    begin_again(m);
    return say_untouched(m, m->rank != 1
                                ? right(m)
                                : sbn_average_gradients(kept[1], counts, TENSORS, tensors[1].of));
}

/* Tensor 3 begins at the last element of tensor 1. */
static int overlapping(test_rank *m)
{
    begin_again(m);
    sbn_buffer *const buffers = tensors[m->rank].buffers[0];
    const sbn_buffer kept_buffer = buffers[3];
    if (m->rank == 1)
        buffers[3].offset = buffers[1].offset + exchange_counts[1] - 1;
    const int status = right(m);
    buffers[3] = kept_buffer;
    return say_untouched(m, status);
}

static int marker_fails(test_rank *m)
{
    begin_again(m);
    wraps_fail(WRAP_MARKER, m->rank == 1);
    const int status = right(m);
    wraps_fail(WRAP_MARKER, 0);
    return say_untouched(m, status);
}

/* The first copy fails: nothing has been exchanged yet. A later one: something has. */
static int read_fails_at(test_rank *m, int n)
{
    begin_again(m);
    wraps_fail(WRAP_READ, m->rank == 1 ? n : 0);
    const int status = right(m);
    wraps_fail(WRAP_READ, 0);
    return say_untouched(m, status);
}

static int read_fails(test_rank *m)
{
    return read_fails_at(m, 1);
}

static int late_read_fails(test_rank *m)
{
    return read_fails_at(m, 6);
}

static const struct fault {
    int (*work)(test_rank *);
    int own, others, touched;
    const char *own_words, *words, *what;
} disagreements[] = {
    {wrong_sizes, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0,
     "rank 1 began averaging of 7 tensors, 6129 floats|; ranks 0, 2, 3 began averaging of 7 "
     "tensors, 6149 floats",
     "rank 1 began averaging of 7 tensors, 6129 floats|; ranks 0, 2, 3 began", "other sizes"},
    {moved_sizes, SBN_DISAGREEMENT, SBN_DISAGREEMENT, 0,
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
    {no_tensors, SBN_INVALID_ARGUMENT, SBN_REMOTE_ERROR, 0, "replicas|got NULL",
     "rank 1 began averaging and reported SBN_INVALID_ARGUMENT", "no tensors"},
    {short_buffer, SBN_INVALID_ARGUMENT, SBN_REMOTE_ERROR, 0,
     "sbn_average_gradients: replica 0: tensor 6: expected 1070 floats",
     "rank 1 began averaging and reported SBN_INVALID_ARGUMENT", "a buffer too small"},
    {overlapping, SBN_INVALID_ARGUMENT, SBN_REMOTE_ERROR, 0,
     "sbn_average_gradients: replica 0: tensor 3 must not overlap tensor 1 in the same call",
     "rank 1 began averaging and reported SBN_INVALID_ARGUMENT", "tensors that overlap"},
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

static int provoke_and_go_on(test_rank *m)
{
    provoked->work(m);
    return go_on(m);
}

static void check_fault(test_ranks *all, const struct fault *fault, uint64_t mean)
{
    provoked = fault;
    ranks_do(all, fault->work);
    for (int rank = 0; rank < all->count; ++rank) {
        const test_rank *m = &all->of[rank];
        rank_expect(m, rank == 1 ? fault->own : fault->others,
                    rank == 1 ? fault->own_words : fault->words, fault->what);
        tap_ok(m->digest == 1 || fault->touched, "%s: rank %d: nothing has changed", fault->what,
               rank);
    }
    ranks_do(all, go_on);
    tap_ok(exchanges_digest(all, fault->what) == mean, "%s: the next averaging is right",
           fault->what);
    tap_ok(ranks_leave(all, provoke_and_go_on) == 0, "%s: nothing is left", fault->what);
}

/* Results cannot be written on rank 1: it says so, and what follows fails on all. */
static int write_fails(test_rank *m)
{
    begin_again(m);
    wraps_fail(WRAP_WRITE, m->rank == 1);
    const int status = right(m);
    wraps_fail(WRAP_WRITE, 0);
    return rank_says(m, status);
}

static void check_write(test_ranks *all)
{
    ranks_do(all, write_fails);
    /* Of several buckets any may have its sums first. */
    rank_expect(&all->of[1], CL_OUT_OF_RESOURCES, "replica 0: tensor |: clEnqueueWriteBuffer",
                "a result cannot be written");
    ranks_do(all, go_on);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == 1 ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                    rank == 1 ? "rank 1: an exchange failed earlier|clEnqueueWriteBuffer"
                              : "rank 1 began averaging and reported SBN_GROUP_FAILED",
                    "afterwards");
}

static void check_faults(void)
{
    const size_t ones[] = {1, 1, 1, 1}, even[] = {2, 2, 2, 2};
    test_ranks all;
    ranks_open(&all, &device, 4, ones, even, NULL);
    ranks_do(&all, open_kept);
    ranks_do(&all, go_on);
    const uint64_t mean = exchanges_digest(&all, "averaged");
    for (size_t i = 0; i < sizeof disagreements / sizeof *disagreements; ++i)
        check_fault(&all, &disagreements[i], mean);
    check_write(&all);
    ranks_do(&all, close_kept);
    /* The group itself knows nothing of all that. */
    ranks_do(&all, rank_train);
    rank_expect(&all.of[1], SBN_SUCCESS, "", "batch norm goes on");
    ranks_close(&all);
}

/* One rank's configuration is wrong: nobody gets an sbn_data_parallel. */
static int wrong_config(test_rank *m)
{
    sbn_data_parallel *parallel;
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = m->rank == 1 ? 4095 : 4096;
    rank_says(m, sbn_data_parallel_create(m->group, &config, &parallel));
    m->digest = parallel == NULL;
    sbn_data_parallel_destroy(parallel);
    return m->status;
}

static void check_config(void)
{
    const size_t ones[] = {1, 1, 1}, even[] = {2, 2, 2};
    test_ranks all;
    ranks_open(&all, &device, 3, ones, even, NULL);
    ranks_do(&all, wrong_config);
    for (int rank = 0; rank < 3; ++rank) {
        rank_expect(&all.of[rank], rank == 1 ? SBN_INVALID_ARGUMENT : SBN_REMOTE_ERROR,
                    rank == 1 ? "bucket_bytes: expected 4096 to |got 4095"
                              : "rank 1 called sbn_data_parallel_create and reported",
                    "a wrong configuration");
        tap_ok(all.of[rank].digest == 1, "rank %d: nothing is made", rank);
    }
    ranks_close(&all);
}

static void checks(void)
{
    check_faults();
    check_config();
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
