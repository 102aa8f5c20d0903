/*
 * Calls of several layers that fail: bad input, devices that fail in one layer. Each rank gets a
 * sentence that names the layer, nothing has changed in any layer, and the groups go on.
 */
#include <stdio.h>
#include <string.h>

#include "support/branch_calls.h"
#include "support/wraps.h"

static fixture device;

/* The second one needs the wide format; rank 1 has no values in the third. */
static const branch_shape shapes[BRANCH_LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "second", .channels = 7, .plane = 9, .samples = 3, .put = huge},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2},
};

/* On rank 1 the frozen one needs the wide format; it has values in all three. */
static const branch_shape frozen_redone[BRANCH_LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "frozen", .channels = 4, .plane = 10, .samples = 2, .put = huge_on_rank_1, .fixed = 1},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2, .full = 1},
};

static int no_saved(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    if (m->rank == BRANCH_ODD)
        c.list[1].saved = NULL;
    return branch_call_make(m, &c);
}

static int no_layer(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    if (m->rank == BRANCH_ODD)
        c.list[2].layer = NULL;
    return branch_call_make(m, &c);
}

static int same_saved(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    if (m->rank == BRANCH_ODD)
        c.list[2] = c.list[0];
    return branch_call_make(m, &c);
}

/* Second reads what first writes. */
static int chained(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    sbn_shard shards[RANK_REPLICAS];
    for (size_t r = 0; r < m->replicas; ++r) {
        shards[r] = c.list[1].shards[r];
        shards[r].x = c.list[0].shards[r].y;
        shards[r].shape[0] = 1;
    }
    if (m->rank == BRANCH_ODD)
        c.list[1].shards = shards;
    return branch_call_make(m, &c);
}

static int short_buffer(test_rank *m)
{
    branch_call c = branch_call_right(m, 1);
    sbn_shard shards[RANK_REPLICAS];
    memcpy(shards, c.list[1].shards, sizeof *shards * m->replicas);
    if (m->rank == BRANCH_ODD)
        shards[0].dx.offset = 1 << 20;
    c.list[1].shards = shards;
    return branch_call_make(m, &c);
}

static int wrong_result(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    c.results[2].size -= m->rank == BRANCH_ODD;
    branch_call_make(m, &c);
    c.results[2].size = sizeof *c.results;
    return m->status;
}

static int too_few(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    sbn_shard shards[RANK_REPLICAS];
    for (size_t r = 0; r < m->replicas; ++r) {
        shards[r] = c.list[1].shards[r];
        shards[r].shape[0] = m->rank == BRANCH_ODD;
        shards[r].shape[2] = 1;
    }
    c.list[1].shards = shards;
    return branch_call_make(m, &c);
}

/*
 * The reads of rank 1: of the first layer, the second, and the second once more in the wide format.
 */
static int read_of_second(test_rank *m)
{
    wraps_fail(WRAP_READ, m->rank == BRANCH_ODD ? 2 : 0);
    return branches_forward(m);
}

static int wide_read(test_rank *m)
{
    wraps_fail(WRAP_READ, m->rank == BRANCH_ODD ? 3 : 0);
    return branches_forward(m);
}

static int query(test_rank *m)
{
    wraps_fail(WRAP_EVENT_INFO, m->rank == BRANCH_ODD);
    return branches_forward(m);
}

static void check_errors(test_ranks *all)
{
    branches_refused(all, no_saved, SBN_INVALID_ARGUMENT, "branches[1]: saved|got NULL",
                     SBN_REMOTE_ERROR,
                     "rank 1 called forward of layer \"second\" with 7 channels and reported "
                     "SBN_INVALID_ARGUMENT",
                     "no saved");
    branches_refused(all, no_layer, SBN_INVALID_ARGUMENT, "branches[2]: layer|got NULL",
                     SBN_REMOTE_ERROR, "rank 1 called forward and reported SBN_INVALID_ARGUMENT",
                     "no layer");
    branches_refused(all, same_saved, SBN_INVALID_ARGUMENT, "branches[2]: saved|used by 1",
                     SBN_REMOTE_ERROR,
                     "rank 1 called forward of layer \"first\" with 3 channels and reported",
                     "one saved for two");
    branches_refused(
        all, chained, SBN_INVALID_ARGUMENT,
        "branches[1]: forward of layer \"second\", rank 1, replica 0: x must not overlap y of "
        "layer \"first\" in the same call",
        SBN_REMOTE_ERROR, "rank 1 called forward of layer \"second\"|SBN_INVALID_ARGUMENT",
        "a layer after the other");
    branches_refused(all, short_buffer, SBN_INVALID_ARGUMENT,
                     "branches[1]: backward of layer \"second\", rank 1, replica 0: dx",
                     SBN_REMOTE_ERROR,
                     "rank 1 called backward of layer \"second\"|SBN_INVALID_ARGUMENT",
                     "a short buffer");
    branches_refused(all, wrong_result, SBN_INVALID_ARGUMENT, "results[2]: size", SBN_REMOTE_ERROR,
                     "rank 1|SBN_INVALID_ARGUMENT", "a wrong result");
    branches_refused(all, too_few, SBN_TOO_FEW_VALUES,
                     "forward of layer \"second\": expected more than 1|got 1", SBN_TOO_FEW_VALUES,
                     "forward of layer \"second\": expected more than 1|got 1",
                     "one value in one layer");
    const char *const second = "rank 1 called forward of layer \"second\" with 7 channels and "
                               "reported CL_OUT_OF_RESOURCES";
    branches_refused(all, read_of_second, CL_OUT_OF_RESOURCES, "replica 0|clEnqueueReadBuffer",
                     SBN_REMOTE_ERROR, second, "a device that fails in one layer");
    branches_refused(all, wide_read, CL_OUT_OF_RESOURCES, "replica 0|clEnqueueReadBuffer",
                     SBN_REMOTE_ERROR, second, "a device that fails in the wide format");
    branches_refused(all, query, CL_OUT_OF_RESOURCES, "replica 0|clGetEventInfo", SBN_REMOTE_ERROR,
                     "rank 1 called forward of layer \"first\"|CL_OUT_OF_RESOURCES",
                     "a device that fails after the header");
}

/* These the others cannot learn of: nobody else calls. */
static int refused_alone(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    sbn_pass *pass = (sbn_pass *)&pass;
    char said[4][512];
    const size_t many[] = {SBN_MAX_BRANCHES + 1, SIZE_MAX};
    for (int i = 0; i < 2; ++i)
        if (sbn_forward_branches(set->forward, many[i], NULL) != SBN_INVALID_ARGUMENT ||
            !holds_words(sbn_last_error(), "count: expected at most 65536 layers, got"))
            return -1;
    m->status = sbn_forward_branches(set->forward, 0, NULL) != SBN_INVALID_ARGUMENT;
    snprintf(said[0], sizeof said[0], "%s", sbn_last_error());
    m->status += sbn_backward_branches_begin(NULL, 2, &pass) != SBN_INVALID_ARGUMENT || pass;
    snprintf(said[1], sizeof said[1], "%s", sbn_last_error());
    m->status += sbn_forward_branches_begin(set->forward, BRANCH_LAYERS, NULL) !=
                 SBN_INVALID_ARGUMENT;
    snprintf(said[2], sizeof said[2], "%s", sbn_last_error());
    branch_call c = branch_call_right(m, 0);
    c.list[0].layer = (sbn_batchnorm *)m->group;
    m->status += sbn_forward_branches(c.list, BRANCH_LAYERS, NULL) != SBN_INVALID_ARGUMENT;
    snprintf(said[3], sizeof said[3], "%s", sbn_last_error());
    snprintf(m->sentence, sizeof m->sentence, "%.120s|%.120s|%.120s|%.120s", said[0], said[1],
             said[2], said[3]);
    return m->status;
}

static void check_refused_alone(test_ranks *all)
{
    ranks_do(all, branches_reset);
    const uint64_t before = branches_state(all);
    ranks_do(all, refused_alone);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], SBN_SUCCESS,
                    "count: expected at least 1 layer, got 0|"
                    "branches: expected an array of layers, got NULL|"
                    "pass: expected a place for the handle, got NULL|"
                    "branches[0]: layer: expected a handle of this kind, got another",
                    "what the others cannot learn of");
    tap_ok(branches_state(all) == before, "nothing has changed");
}

/* After the sums were combined one layer of rank 1 fails: the group has, as the others learn. */
static int failing_apply(test_rank *m)
{
    wraps_fail(WRAP_WRITE, m->rank == BRANCH_ODD ? 2 : 0);
    return branches_forward(m);
}

static void check_failed_group(test_ranks *all)
{
    ranks_do(all, failing_apply);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == BRANCH_ODD ? CL_OUT_OF_RESOURCES : SBN_SUCCESS,
                    rank == BRANCH_ODD ? "replica 0|clEnqueueWriteBuffer" : "",
                    "a device fails in one layer's apply");
    ranks_do(all, branches_forward);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == BRANCH_ODD ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                    rank == BRANCH_ODD ? "rank 1|failed earlier|clEnqueueWriteBuffer"
                                       : "rank 1|SBN_GROUP_FAILED",
                    "afterwards");
}

/* A frozen layer that rank 1 redoes by itself: the others have all they need, and have gone on. */
static int failing_redo(test_rank *m)
{
    if (branches_forward(m))
        return m->status;
    branch_set *set = branch_set_of(m);
    wraps_fail(WRAP_READ, m->rank == BRANCH_ODD ? 1 + BRANCH_LAYERS : 0);
    rank_says(m, sbn_backward_branches(set->backward, BRANCH_LAYERS, set->results[1]));
    wraps_fail(WRAP_ANY, 0);
    return m->status;
}

static void check_frozen(test_ranks *all)
{
    ranks_do(all, branches_train);
    branches_refused(all, no_saved, SBN_INVALID_ARGUMENT, "branches[1]: saved|got NULL",
                     SBN_REMOTE_ERROR,
                     "rank 1 called forward of layer \"frozen\" with 4 channels and reported "
                     "SBN_INVALID_ARGUMENT",
                     "an error in a layer of one's own");
    ranks_do(all, failing_redo);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == BRANCH_ODD ? CL_OUT_OF_RESOURCES : SBN_SUCCESS,
                    rank == BRANCH_ODD ? "replica 0|clEnqueueReadBuffer" : "",
                    "a device fails in a redo of this rank's own");
    ranks_do(all, branches_forward);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == BRANCH_ODD ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                    rank == BRANCH_ODD ? "rank 1|failed earlier|clEnqueueReadBuffer"
                                       : "rank 1|SBN_GROUP_FAILED",
                    "afterwards");
}

static void check_refusals(test_ranks *all)
{
    ranks_do(all, branches_train);
    check_errors(all);
    check_refused_alone(all);
    check_failed_group(all);
}

static void checks(void)
{
    branches_with(&device, shapes, check_refusals);
    branches_with(&device, frozen_redone, check_frozen);
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
