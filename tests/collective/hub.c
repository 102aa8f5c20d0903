/*
 * Groups of several ranks, threads over the in-memory transport or ranks
 * over MPI: the same bits as one group of as many replicas; and when ranks do
 * not agree, each learns who did what, nothing has changed, and the same groups
 * go on.
 */
#include "base/memory.h"
#include "support/ranks.h"
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

/* What rank 1 does while the others call forward of the first layer. */
static int wrong_layer(test_rank *m)
{
    return m->rank != 1 ? rank_forward(m)
                        : rank_says(m, sbn_forward(m->second, m->shards, m->second_saved, 0, NULL));
}

static int wrong_operation(test_rank *m)
{
    return m->rank != 1 ? rank_forward(m)
                        : rank_says(m, sbn_backward(m->layer, m->shards, m->saved, 0, NULL));
}

static int wrong_offset(test_rank *m)
{
    sbn_shard bad = m->shards[0];
    if (m->rank == 1)
        bad.y.offset = 1 << 20;
    return rank_says(m, sbn_forward(m->layer, &bad, m->saved, 0, NULL));
}

static int wrong_saved(test_rank *m)
{
    sbn_saved *saved = m->rank == 1 ? NULL : m->saved;
    return rank_says(m, sbn_forward(m->layer, m->shards, saved, 0, NULL));
}

static int wrong_result(test_rank *m)
{
    sbn_result result = {m->rank == 1 ? 1 : sizeof result, 0, 0, 0};
    return rank_says(m, sbn_backward(m->layer, m->shards, m->saved, 0, &result));
}

static int too_few(test_rank *m)
{
    sbn_shard one = m->shards[0];
    one.shape[0] = m->rank == 1;
    one.shape[2] = 1;
    return rank_says(m, sbn_forward(m->layer, &one, m->saved, 0, NULL));
}

/* A layer that rank 1 makes otherwise. */
static int other_channels(test_rank *m)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_shard shard = m->shards[0];
    config.name = "odd";
    config.channels = m->rank == 1 ? 2 : RANK_CHANNELS;
    shard.shape[1] = config.channels;
    shard.shape[2] = 5;
    sbn_batchnorm *layer = fixture_layer_of(m->group, &config);
    sbn_saved *saved = fixture_saved(layer);
    rank_says(m, sbn_forward(layer, &shard, saved, 0, NULL));
    fixture_end(layer, saved);
    return m->status;
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
    rank_says(m, sbn_backward(m->layer, m->shards, saved[m->rank != 1], 0, NULL));
    for (int i = 0; i < 2; ++i)
        sbn_saved_destroy(saved[i]);
    return m->status;
}

/* Rank 1's device fails: a query after the header, the read before it. */
static int failing_event(test_rank *m)
{
    wraps_fail(WRAP_EVENT_INFO, m->rank == 1);
    return rank_forward(m);
}

static int failing_read(test_rank *m)
{
    wraps_fail(WRAP_READ, m->rank == 1);
    return rank_forward(m);
}

/* Ranks may pass filled and empty saved statistics to a forward pass: that is no disagreement. */
static int fresh_saved(test_rank *m)
{
    if (m->rank != 1)
        return rank_forward(m);
    sbn_saved *fresh = fixture_saved(m->layer);
    const int status = rank_says(m, sbn_forward(m->layer, m->shards, fresh, 0, NULL));
    sbn_saved_destroy(fresh);
    return status;
}

static void check_fresh_saved(test_ranks *all)
{
    ranks_do(all, fresh_saved);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], SBN_SUCCESS, "", "a saved of its own on rank 1");
}

#define FIRST "rank 1 called forward of layer \"first\"|"

/* What rank 1 is told, and the others; NULL: the same. */
static const struct {
    int (*work)(test_rank *);
    const char *what;
    int own;
    const char *own_words;
    int others;
    const char *words;
} cases[] = {
    {wrong_layer, "another layer", SBN_DISAGREEMENT,
     "rank 1 called forward of layer \"second\"|"
     "ranks 0, 2 called forward of layer \"first\" with 3 channels",
     SBN_DISAGREEMENT, NULL},
    {wrong_operation, "another operation", SBN_DISAGREEMENT,
     "rank 1 called backward of|ranks 0, 2 called forward of", SBN_DISAGREEMENT, NULL},
    {other_channels, "other channels", SBN_DISAGREEMENT,
     "rank 1 called forward of layer \"odd\" with 2 channels|ranks 0, 2|with 3 channels",
     SBN_DISAGREEMENT, NULL},
    {other_forward, "backward of another forward", SBN_DISAGREEMENT,
     "all ranks called backward of layer \"first\" with 3 channels|"
     "channels (saved by call |on rank 1, | on ranks 0, 2)",
     SBN_DISAGREEMENT, NULL},
    {wrong_offset, "a buffer too small", SBN_INVALID_ARGUMENT,
     "rank 1, replica 0: y: ", SBN_REMOTE_ERROR, FIRST "SBN_INVALID_ARGUMENT"},
    {wrong_saved, "no saved", SBN_INVALID_ARGUMENT, "saved|got NULL", SBN_REMOTE_ERROR,
     FIRST "SBN_INVALID_ARGUMENT"},
    {wrong_result, "a wrong result", SBN_INVALID_ARGUMENT, "result: size", SBN_REMOTE_ERROR,
     "rank 1 called backward|SBN_INVALID_ARGUMENT"},
    {too_few, "one value in all", SBN_TOO_FEW_VALUES, "more than 1 value|got 1", SBN_TOO_FEW_VALUES,
     NULL},
    {failing_read, "a device that fails before the header", CL_OUT_OF_RESOURCES,
     "clEnqueueReadBuffer", SBN_REMOTE_ERROR, FIRST "CL_OUT_OF_RESOURCES"},
    {failing_event, "a device that fails after the header", CL_OUT_OF_RESOURCES,
     "replica 0|clGetEventInfo", SBN_REMOTE_ERROR, FIRST "CL_OUT_OF_RESOURCES"},
};

/* All get an error, nothing changes, and the groups work again. Twice: buffers kept are no loss. */
static void refused(test_ranks *all, size_t i)
{
    int (*work)(test_rank *) = cases[i].work;
    const char *what = cases[i].what;
    ranks_reset(all);
    const uint64_t before = ranks_state(all);
    ranks_do(all, work);
    const long handles = sbn__handles_open();
    ranks_do(all, work);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == 1 ? cases[i].own : cases[i].others,
                    rank == 1 || !cases[i].words ? cases[i].own_words : cases[i].words, what);
    tap_ok(ranks_state(all) == before, "%s: nothing has changed", what);
    tap_ok(sbn__handles_open() == handles, "%s: %ld handles left", what,
           sbn__handles_open() - handles);
    ranks_do(all, rank_train);
    int good = 1;
    for (int rank = 0; rank < all->count; ++rank)
        good = good && all->of[rank].status == SBN_SUCCESS;
    tap_ok(good, "%s: the groups work again (%s)", what, all->of[0].sentence);
}

/* After the sums were combined: rank 1's group has failed, which the others learn next time. */
static int failing_apply(test_rank *m)
{
    wraps_fail(WRAP_WRITE, m->rank == 1);
    return rank_forward(m);
}

static void check_failed_group(test_ranks *all)
{
    ranks_do(all, failing_apply);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == 1 ? CL_OUT_OF_RESOURCES : SBN_SUCCESS,
                    rank == 1 ? "replica 0|clEnqueueWriteBuffer" : "",
                    "a device fails in the apply");
    for (int i = 0; i < 2; ++i) {
        ranks_do(all, rank_forward);
        for (int rank = 0; rank < all->count; ++rank)
            rank_expect(&all->of[rank], rank == 1 ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                        rank == 1 ? "rank 1|failed earlier|clEnqueueWriteBuffer"
                                  : "rank 1|SBN_GROUP_FAILED",
                        "afterwards");
    }
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    if (fixture_open(&device))
        return ranks_end(fixture_missing());
    const long at_start = sbn__handles_open();
    const size_t ones[] = {1, 1, 1}, samples[] = {2, 3, 1};
    check_bits();
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    test_ranks all;
    ranks_open(&all, &device, 3, ones, samples, NULL);
    ranks_do(&all, rank_train);
    check_fresh_saved(&all);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        refused(&all, i);
    check_failed_group(&all);
    ranks_close(&all);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    fixture_close(&device);
    return ranks_end(tap_done());
}
