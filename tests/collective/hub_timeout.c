/*
 * Ranks that do not join: the pass ends with a sentence, or, with SBN_TIMEOUT_LOCAL, with this rank's
 * own statistics.
 */
#include <syncbn/data_parallel.h>

#include "base/clock.h"
#include "base/memory.h"
#include "group/group.h"
#include "support/ranks.h"

static fixture device;

/* Who comes at once, and who does later or not at all. */
enum { ON_TIME = 3, LATE = 4 };

static void check_absent(void)
{
    test_ranks all;
    ranks_open_three(&all, &device, 0.3, SBN_TIMEOUT_FAIL);
    ranks_reset(&all);
    const uint64_t before = ranks_state(&all);
    ranks_do_some(&all, ON_TIME, rank_forward_twice);
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_TIMEOUT,
                    "waited 0.3 s in forward of layer \"first\" for rank 2", "a rank is absent");
    ranks_do_some(&all, ON_TIME, rank_forward);
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_GROUP_FAILED, "failed earlier|waited 0.3 s|rank 2",
                    "afterwards the group is dead");
    ranks_do_some(&all, LATE, rank_forward);
    /* It is told about the timeout of the others, and does not wait for its own. */
    rank_expect(&all.of[2], SBN_REMOTE_ERROR,
                "ranks 0, 1 called forward of layer \"first\"|reported SBN_TIMEOUT",
                "the late rank");
    ranks_do_some(&all, LATE, rank_forward);
    rank_expect(&all.of[2], SBN_GROUP_FAILED, "rank 2: the group failed earlier|ranks 0, 1",
                "the late rank afterwards");
    tap_ok(ranks_state(&all) == before, "nothing has changed");
    expect(sbn_evaluate(all.of[0].layer, all.of[0].shards), SBN_SUCCESS, "",
           "evaluation by running statistics needs nobody");
    ranks_close(&all);
}

static int breaks(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    return -5;
}

/* A transport that cannot tell whether the header has come: its rank sends no sums, and is named. */
static void check_breaking(void)
{
    test_ranks all;
    ranks_open_three(&all, &device, 0.3, SBN_TIMEOUT_FAIL);
    all.of[2].group->communicator.transport.test = breaks;
    ranks_do_some(&all, ON_TIME | LATE, rank_forward);
    rank_expect(&all.of[2], SBN_TRANSPORT_ERROR, "rank 2: the transport's test returned -5",
                "a transport that breaks");
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_TIMEOUT,
                    "waited 0.3 s in forward of layer \"first\" for rank 2", "the others");
    ranks_close(&all);
}

/* Both layers in one call; the second one's outputs have to go elsewhere. */
static int train_branches(test_rank *m)
{
    sbn_shard shards[RANK_REPLICAS];
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    for (size_t r = 0; r < m->replicas; ++r) {
        shards[r] = m->shards[r];
        shards[r].y = shards[r].dx;
    }
    const sbn_branch list[] = {{sizeof(sbn_branch), m->layer, m->shards, m->saved, 0},
                               {sizeof(sbn_branch), m->second, shards, m->second_saved, 0}};
    int status = sbn_forward_branches(list, 2, results);
    m->result = results[1];
    if (!status && results[0].synchronised != results[1].synchronised)
        return rank_says(m, 1);
    if (!status)
        status = sbn_backward_branches(list, 1, results);
    clFinish(m->queue);
    return rank_says(m, status);
}

static int forward_and_train(test_rank *m)
{
    must(sbn_forward(m->second, m->shards, m->second_saved, 0, NULL), "sbn_forward");
    return rank_train(m);
}

static void expect_bits(const test_ranks *all, uint64_t alone)
{
    test_ranks first = *all;
    first.count = 1;
    tap_ok(ranks_digest(&first) == alone, "the bits of a group of this rank alone");
}

/* The first ranks have gone on with their own statistics. */
static void expect_alone(const test_ranks *all, int count, const char *what)
{
    for (int rank = 0; rank < count; ++rank) {
        const test_rank *m = &all->of[rank];
        tap_ok(m->status == SBN_SUCCESS && !m->result.synchronised &&
                   m->result.count == m->slices[0].samples * RANK_PLANE,
               "%s: rank %d: %s %s, not synchronised, %d values", what, rank,
               sbn_strerror(m->status), m->sentence, (int)m->result.count);
    }
}

static int train_on(test_rank *m)
{
    const int status = sbn_backward(m->layer, m->shards, m->saved, SBN_GLOBAL_GRADIENTS,
                                    &m->result);
    clFinish(m->queue);
    return rank_says(m, status);
}

static void check_local(void)
{
    test_ranks all;
    const uint64_t alone = ranks_digest_of(&device, 1, NULL, NULL, forward_and_train, "alone");
    ranks_open_three(&all, &device, 0.3, SBN_TIMEOUT_LOCAL);
    ranks_do_some(&all, ON_TIME, rank_forward_twice);
    expect_alone(&all, 2, "left alone");
    ranks_do_some(&all, ON_TIME, train_on);
    tap_ok(all.of[0].status == SBN_SUCCESS && !all.of[0].result.synchronised,
           "later passes are local too: %s", all.of[0].sentence);
    expect_bits(&all, alone);
    ranks_close(&all);
}

/* With SBN_TIMEOUT_LOCAL: a rank that comes later is told, and leaves nothing pending. */
static void check_local_late(void)
{
    test_ranks all;
    const long before = sbn__handles_open();
    ranks_open_three(&all, &device, 1, SBN_TIMEOUT_LOCAL);
    ranks_do_some(&all, ON_TIME, rank_forward);
    const double start = sbn__seconds();
    ranks_do_some(&all, LATE, rank_forward);
    const double waited = sbn__seconds() - start;
    expect_alone(&all, 3, "one late");
    tap_ok(waited < 1, "the late rank does not wait for its own timeout: %g s of 1", waited);
    ranks_do(&all, rank_train);
    for (int rank = 0; rank < 3; ++rank)
        rank_expect(&all.of[rank], SBN_SUCCESS, "", "all go on alone");
    ranks_close(&all);
    tap_ok(sbn__handles_open() == before, "no request is left: %ld blocks",
           sbn__handles_open() - before);
}

/* A split that a rank does not come to. */
static sbn_group *parts[3];

static int split(test_rank *m)
{
    const int colour = 0;
    parts[m->rank] = NULL;
    return rank_says(m, sbn_group_split(m->group, &colour, &parts[m->rank]));
}

/* The layer moves to its rank's part. */
static int train_in_part(test_rank *m)
{
    int status = sbn_batchnorm_set_group(m->layer, parts[m->rank]);
    status = status ? rank_says(m, status) : rank_forward(m);
    must(sbn_batchnorm_set_group(m->layer, m->group), "sbn_batchnorm_convert");
    sbn_group_destroy(parts[m->rank]);
    return status;
}

static int join(test_rank *m)
{
    sbn_data_parallel *parallel;
    return rank_says(m, sbn_data_parallel_create(m->group, NULL, &parallel));
}

static void check_split(sbn_timeout_action action)
{
    const int local = action == SBN_TIMEOUT_LOCAL;
    test_ranks all;
    ranks_open_three(&all, &device, 0.5, action);
    ranks_do_some(&all, ON_TIME, split);
    for (int rank = 0; rank < 2; ++rank) {
        rank_expect(&all.of[rank], local ? SBN_SUCCESS : SBN_TIMEOUT,
                    local ? "" : "waited 0.5 s in sbn_group_split for rank 2",
                    "a split, one absent");
        tap_ok((parts[rank] != NULL) == local, "rank %d: %s", rank, local ? "a part" : "no part");
    }
    ranks_do_some(&all, LATE, split);
    rank_expect(&all.of[2], local ? SBN_SUCCESS : SBN_TIMEOUT,
                local ? "" : "rank 2 waited 0.5 s in sbn_group_split for ranks 0, 1",
                "the late rank");
    if (local) {
        ranks_do_some(&all, ON_TIME | LATE, train_in_part);
        expect_alone(&all, 3, "its part is alone");
    }
    ranks_do(&all, join);
    for (int rank = 0; rank < 3; ++rank)
        rank_expect(&all.of[rank], SBN_GROUP_FAILED,
                    local ? "after a timeout the group goes on with this rank's statistics alone"
                          : "the group failed earlier",
                    "no exchanges of tensors afterwards");
    ranks_close(&all);
}

static void check_branches(void)
{
    test_ranks all;
    const uint64_t alone = ranks_digest_of(&device, 1, NULL, NULL, train_branches, "alone");
    ranks_open_three(&all, &device, 0.3, SBN_TIMEOUT_FAIL);
    ranks_reset(&all);
    const uint64_t before = ranks_state(&all);
    ranks_do_some(&all, ON_TIME, train_branches);
    tap_ok(ranks_state(&all) == before, "two layers in a call: nothing has changed");
    for (int rank = 0; rank < 2; ++rank)
        rank_expect(&all.of[rank], SBN_TIMEOUT,
                    "waited 0.3 s in forward of layer \"first\" and 1 more for rank 2",
                    "two layers in a call, a rank is absent");
    ranks_close(&all);

    ranks_open_three(&all, &device, 0.3, SBN_TIMEOUT_LOCAL);
    ranks_do_some(&all, ON_TIME, train_branches);
    expect_alone(&all, 2, "two layers in a call, left alone");
    expect_bits(&all, alone);
    ranks_close(&all);
}

static void checks(void)
{
    const long at_start = sbn__handles_open();
    check_absent();
    check_breaking();
    check_local();
    check_local_late();
    check_split(SBN_TIMEOUT_FAIL);
    check_split(SBN_TIMEOUT_LOCAL);
    check_branches();
    tap_note("timeouts have left %ld blocks allocated", sbn__handles_open() - at_start);
}

int main(void)
{
    return fixture_main_waits(&device, checks);
}
