/*
 * Groups of several ranks, threads over the in-memory transport or ranks
 * over MPI: the same bits as one group of as many replicas; and when ranks do
 * not agree, each learns who did what, nothing has changed, and the same groups
 * go on.
 */
#include "support/refused_ranks.h"
#include "support/wraps.h"

static fixture device;

static uint64_t train(int count, const size_t *replicas, const size_t *samples, const char *what)
{
    test_ranks all;
    ranks_open(&all, &device, count, replicas, samples, NULL);
    ranks_do(&all, rank_train);
    ranks_do(&all, rank_train);
    for (int rank = 0; rank < count; ++rank) {
        const test_rank *m = &all.of[rank];
        tap_ok(m->status == SBN_SUCCESS && m->result.count == 8 * RANK_PLANE &&
                   m->result.synchronised,
               "%s: rank %d: %s %s, %d values", what, rank, sbn_strerror(m->status), m->sentence,
               (int)m->result.count);
    }
    const uint64_t digest = ranks_digest(&all);
    ranks_close(&all);
    return digest;
}

static void check_bits(void)
{
    const size_t ones[] = {1, 1, 1, 1}, twos[] = {2, 2}, four[] = {4}, some[] = {1, 0, 2};
    const size_t even[] = {2, 2, 2, 2}, uneven[] = {1, 3, 0, 4}, three[] = {5, 3, 0};
    const uint64_t alone = train(1, four, even, "one group of 4 replicas");
    tap_ok(train(4, ones, even, "4 x 1") == alone, "4 threads of 1 replica give the same bits");
    tap_ok(train(2, twos, uneven, "2 x 2") == alone,
           "2 threads of 2 replicas, uneven: the same bits");
    tap_ok(train(3, some, three, "1, 0, 2") == alone, "a rank without replicas: the same bits");
}

/* --- ranks that do not agree ------------------------------------------------------------- */

/* What a rank does: forward of the first layer, if nothing else is said. */
typedef struct arguments {
    int (*work)(test_rank *m);
    failure fails;
} arguments;

static void right(test_rank *m, void *of)
{
    (void)m;
    *(arguments *)of = (arguments){.work = rank_forward};
}

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    wraps_fail(a->fails.function, a->fails.n);
    a->work(m);
    wraps_fail(WRAP_ANY, 0);
    return m->status;
}

static int second_layer(test_rank *m)
{
    return rank_says(m, sbn_forward(m->second, m->shards, m->second_saved, 0, NULL));
}

static int backward(test_rank *m)
{
    return rank_says(m, sbn_backward(m->layer, m->shards, m->saved, 0, NULL));
}

static int wrong_offset(test_rank *m)
{
    sbn_shard bad = m->shards[0];
    bad.y.offset = 1 << 20;
    return rank_says(m, sbn_forward(m->layer, &bad, m->saved, 0, NULL));
}

static int no_saved(test_rank *m)
{
    return rank_says(m, sbn_forward(m->layer, m->shards, NULL, 0, NULL));
}

static int wrong_result(test_rank *m)
{
    sbn_result result = {.size = 1};
    return rank_says(m, sbn_backward(m->layer, m->shards, m->saved, 0, &result));
}

/* One value in all. */
static int too_few(test_rank *m)
{
    sbn_shard one = m->shards[0];
    one.shape[0] = m->rank == ODD_RANK;
    one.shape[2] = 1;
    return rank_says(m, sbn_forward(m->layer, &one, m->saved, 0, NULL));
}

/* A layer that rank 1 makes otherwise, or whose weight it refuses. */
static int odd_layer(test_rank *m, size_t channels, double eps, int from_output)
{
    sbn_shard shard = m->shards[0];
    shard.shape[1] = channels;
    shard.shape[2] = 5;
    sbn_batchnorm *layer = LAYER_WITH(m->group, .name = "odd", .channels = channels, .eps = eps,
                                      .from_output = from_output);
    sbn_saved *saved = fixture_saved(layer);
    rank_says(m, sbn_forward(layer, &shard, saved, 0, NULL));
    fixture_end(layer, saved);
    return m->status;
}

static int other_channels(test_rank *m)
{
    return odd_layer(m, m->rank == ODD_RANK ? 2 : RANK_CHANNELS, 1e-5, 0);
}

static int other_eps(test_rank *m)
{
    return odd_layer(m, RANK_CHANNELS, m->rank == ODD_RANK ? 1e-3 : 1e-5, 0);
}

static int wrong_weight(test_rank *m)
{
    sbn_buffer second = m->shards[0].weight;
    ++second.offset;
    buffer_fill(&m->slices[0], &second, 1, m->rank == ODD_RANK ? 1e-9f : 1.0f);
    return odd_layer(m, RANK_CHANNELS, 1e-5, 1);
}

/* Backward of the first of two forwards, where the others take the second. */
static int other_forward(test_rank *m)
{
    sbn_saved *saved[2];
    for (int i = 0; i < 2; ++i) {
        saved[i] = fixture_saved(m->layer);
        sbn_forward(m->layer, m->shards, saved[i], SBN_KEEP_RUNNING_STATS, NULL);
    }
    clFinish(m->queue);
    slice_reset(&m->slices[0]);
    rank_says(m, sbn_backward(m->layer, m->shards, saved[m->rank != ODD_RANK], 0, NULL));
    for (int i = 0; i < 2; ++i)
        sbn_saved_destroy(saved[i]);
    return m->status;
}

/* Ranks may pass filled and empty saved statistics to a forward pass: that is no disagreement. */
static int fresh_saved(test_rank *m)
{
    sbn_saved *fresh = fixture_saved(m->layer);
    rank_says(m, sbn_forward(m->layer, m->shards, fresh, 0, NULL));
    sbn_saved_destroy(fresh);
    return m->status;
}

#define DISAGREE(work_of, words, ...) \
    ROW(work, work_of, words, .status = SBN_DISAGREEMENT, __VA_ARGS__)
#define FAILS(function, words) \
    ROW(fails, ((failure){function, 1}), words, .status = CL_OUT_OF_RESOURCES, \
        .heard = FIRST "CL_OUT_OF_RESOURCES")
#define FIRST "rank 1 called forward of layer \"first\"|"
#define INVALID .heard = FIRST "SBN_INVALID_ARGUMENT"

/* After the sums were combined: rank 1's group has failed, which the others learn next time. */
static int failing_apply(test_rank *m)
{
    wraps_fail(WRAP_WRITE, m->rank == ODD_RANK);
    return rank_forward(m);
}

static void check_failed_group(test_ranks *all)
{
    ranks_do(all, failing_apply);
    ranks_expect(all, CL_OUT_OF_RESOURCES, "replica 0|clEnqueueWriteBuffer", SBN_SUCCESS, "",
                 "a device fails in the apply");
    for (int i = 0; i < 2; ++i) {
        ranks_do(all, rank_forward);
        ranks_expect(all, SBN_GROUP_FAILED, "rank 1|failed earlier|clEnqueueWriteBuffer",
                     SBN_REMOTE_ERROR, "rank 1|SBN_GROUP_FAILED", "afterwards");
    }
}

static void check_disagreements(test_ranks *all)
{
    const refusal rows[] = {
        ROW(work, fresh_saved, "", .changes = 1),
        DISAGREE(second_layer, "rank 1 called forward of layer \"second\"|"
                               "ranks 0, 2 called forward of layer \"first\" with 3 channels"),
        DISAGREE(backward, "rank 1 called backward of|ranks 0, 2 called forward of"),
        DISAGREE(
            other_channels,
            "rank 1 called forward of layer \"odd\" with 2 channels|ranks 0, 2|with 3 channels",
            .odd = ALL_RANKS),
        DISAGREE(other_eps,
                 "all ranks called forward of layer \"odd\" with 3 channels (eps 0.001 on rank 1, "
                 "1e-05 on ranks 0, 2)",
                 .odd = ALL_RANKS),
        ROW(work, wrong_weight, "layer \"odd\", rank 1, replica 0: weight: |in channel 1",
            .odd = ALL_RANKS,
            .heard = "rank 1 called forward of layer \"odd\"|SBN_INVALID_ARGUMENT"),
        DISAGREE(other_forward,
                 "all ranks called backward of layer \"first\" with 3 channels|"
                 "channels (saved by call |on rank 1, | on ranks 0, 2)",
                 .odd = ALL_RANKS),
        ROW(work, wrong_offset, "rank 1, replica 0: y: ", INVALID),
        ROW(work, no_saved, "saved|got NULL", INVALID),
        ROW(work, backward, NULL, .odd = ALL_RANKS),
        ROW(work, wrong_result, "result: size",
            .heard = "rank 1 called backward|SBN_INVALID_ARGUMENT"),
        ROW(work, too_few, "more than 1 value|got 1", .status = SBN_TOO_FEW_VALUES,
            .odd = ALL_RANKS),
        /* Before the header, and after it. */
        FAILS(WRAP_READ, "clEnqueueReadBuffer"),
        FAILS(WRAP_EVENT_INFO, "replica 0|clGetEventInfo"),
    };
    static const ranks_call pass = {sizeof(arguments), right,      call,
                                    rank_reset,        rank_state, rank_train};
    RANKS_REFUSE(all, &pass, rows);
}

static void checks(void)
{
    test_ranks all;
    check_bits();
    ranks_open(&all, &device, 3, NULL, NULL, NULL);
    ranks_do(&all, rank_train);
    check_disagreements(&all);
    check_failed_group(&all);
    ranks_close(&all);
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
