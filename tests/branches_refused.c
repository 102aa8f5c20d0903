/*
 * Calls of several layers that cannot be: members that do not agree about them,
 * bad input, devices that fail in one layer. Each member gets a sentence that
 * names the layer, nothing has changed in any layer, and the groups go on.
 */
#include <stdio.h>
#include <string.h>

#include "branch_set.h"
#include "handles.h"
#include "wraps.h"

enum { MEMBERS = 3, LAYERS = 3, ODD = 1 };

static fixture device;

/* The second one needs the wide window; rank 1 has no values in the third. */
static const branch_shape shapes[LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "second", .channels = 7, .plane = 9, .samples = 3, .put = huge},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2},
};

/* On rank 1 the frozen one needs the wide window; it has values in all three. */
static const branch_shape frozen_redone[LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "frozen", .channels = 4, .plane = 10, .samples = 2, .put = huge_on_rank_1, .fixed = 1},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2, .full = 1},
};

static int forward(member *m)
{
    branch_set *set = branch_set_of(m);
    return member_says(m, sbn_forward_branches(set->forward, LAYERS, set->results[0]));
}

static int train(member *m)
{
    branch_set *set = branch_set_of(m);
    if (forward(m))
        return m->status;
    member_says(m, sbn_backward_branches(set->backward, LAYERS, set->results[1]));
    clFinish(m->queue);
    return m->status;
}

/* What the others call; rank 1 may change it. */
typedef struct call {
    sbn_branch list[LAYERS];
    size_t count;
    int back;
    sbn_result *results;
} call;

static call right_call(const member *m, int back)
{
    branch_set *set = branch_set_of(m);
    call c = {.count = LAYERS, .back = back, .results = set->results[back]};
    memcpy(c.list, back ? set->backward : set->forward, sizeof c.list);
    return c;
}

static int make(member *m, const call *c)
{
    return member_says(m, c->back ? sbn_backward_branches(c->list, c->count, c->results)
                                  : sbn_forward_branches(c->list, c->count, c->results));
}

static int one_less(member *m)
{
    call c = right_call(m, 0);
    c.count -= m->rank == ODD;
    return make(m, &c);
}

static int plain_call(member *m)
{
    call c = right_call(m, 1);
    c.count = m->rank == ODD ? 1 : c.count;
    return make(m, &c);
}

static int left_out(member *m)
{
    call c = right_call(m, 0);
    if (m->rank == ODD)
        c.list[1] = c.list[--c.count];
    return make(m, &c);
}

static int swapped(member *m)
{
    call c = right_call(m, 1);
    if (m->rank == ODD) {
        const sbn_branch last = c.list[2];
        c.list[2] = c.list[1];
        c.list[1] = last;
    }
    return make(m, &c);
}

static int other_flags(member *m)
{
    call c = right_call(m, 0);
    c.list[2].flags = m->rank == ODD ? SBN_KEEP_RUNNING_STATS : 0;
    return make(m, &c);
}

static int other_operation(member *m)
{
    const call c = right_call(m, m->rank == ODD);
    return make(m, &c);
}

/* The last layer is frozen on rank 1: it combines nothing there. */
static int frozen_here(member *m)
{
    const call c = right_call(m, 0);
    must(sbn_batchnorm_freeze(c.list[2].layer, m->rank == ODD), "sbn_batchnorm_freeze");
    make(m, &c);
    must(sbn_batchnorm_freeze(c.list[2].layer, 0), "sbn_batchnorm_freeze");
    return m->status;
}

/* Gradients over the group of a frozen layer, which the others train. */
static int frozen_backward(member *m)
{
    sbn_saved *saved;
    call c = right_call(m, 1);
    must(sbn_saved_create(c.list[0].layer, &saved), "sbn_saved_create");
    must(sbn_batchnorm_freeze(c.list[0].layer, 1), "sbn_batchnorm_freeze");
    must(sbn_forward(c.list[0].layer, c.list[0].shares, saved, 0, NULL), "sbn_forward");
    must(sbn_batchnorm_freeze(c.list[0].layer, 0), "sbn_batchnorm_freeze");
    clFinish(m->queue);
    for (size_t r = 0; r < m->replicas; ++r)
        slice_reset(&branch_set_of(m)->slices[0][r]);
    if (m->rank == ODD)
        c.list[0].saved = saved;
    c.list[0].flags = SBN_GLOBAL_GRADIENTS;
    make(m, &c);
    sbn_saved_destroy(saved);
    return m->status;
}

/* Two forwards of a layer in one call; the odd member takes them for each other going back. */
static int other_place(member *m)
{
    branch_set *set = branch_set_of(m);
    sbn_branch twice[2] = {set->forward[0], set->forward[0]};
    sbn_share shares[MEMBER_REPLICAS];
    sbn_saved *saved[2];
    for (int i = 0; i < 2; ++i) {
        must(sbn_saved_create(twice[i].layer, &saved[i]), "sbn_saved_create");
        twice[i].saved = saved[i];
        twice[i].flags = SBN_KEEP_RUNNING_STATS;
    }
    /* The second one's output has to go elsewhere. */
    for (size_t r = 0; r < m->replicas; ++r) {
        shares[r] = twice[1].shares[r];
        shares[r].y = shares[r].dx;
    }
    twice[1].shares = shares;
    must(sbn_forward_branches(twice, 2, NULL), "sbn_forward_branches");
    clFinish(m->queue);
    for (size_t r = 0; r < m->replicas; ++r)
        slice_reset(&set->slices[0][r]);
    member_says(m, sbn_backward(twice[0].layer, twice[0].shares, saved[m->rank == ODD], 0, NULL));
    for (int i = 0; i < 2; ++i)
        sbn_saved_destroy(saved[i]);
    return m->status;
}

static int no_saved(member *m)
{
    call c = right_call(m, 0);
    if (m->rank == ODD)
        c.list[1].saved = NULL;
    return make(m, &c);
}

static int no_layer(member *m)
{
    call c = right_call(m, 0);
    if (m->rank == ODD)
        c.list[2].layer = NULL;
    return make(m, &c);
}

static int same_saved(member *m)
{
    call c = right_call(m, 0);
    if (m->rank == ODD)
        c.list[2] = c.list[0];
    return make(m, &c);
}

/* Second reads what first writes. */
static int chained(member *m)
{
    call c = right_call(m, 0);
    sbn_share shares[MEMBER_REPLICAS];
    for (size_t r = 0; r < m->replicas; ++r) {
        shares[r] = c.list[1].shares[r];
        shares[r].x = c.list[0].shares[r].y;
        shares[r].shape[0] = 1;
    }
    if (m->rank == ODD)
        c.list[1].shares = shares;
    return make(m, &c);
}

static int short_buffer(member *m)
{
    call c = right_call(m, 1);
    sbn_share shares[MEMBER_REPLICAS];
    memcpy(shares, c.list[1].shares, sizeof *shares * m->replicas);
    if (m->rank == ODD)
        shares[0].dx.offset = 1 << 20;
    c.list[1].shares = shares;
    return make(m, &c);
}

static int wrong_result(member *m)
{
    call c = right_call(m, 0);
    c.results[2].size -= m->rank == ODD;
    make(m, &c);
    c.results[2].size = sizeof *c.results;
    return m->status;
}

static int too_few(member *m)
{
    call c = right_call(m, 0);
    sbn_share shares[MEMBER_REPLICAS];
    for (size_t r = 0; r < m->replicas; ++r) {
        shares[r] = c.list[1].shares[r];
        shares[r].shape[0] = m->rank == ODD;
        shares[r].shape[2] = 1;
    }
    c.list[1].shares = shares;
    return make(m, &c);
}

/* The reads of rank 1: of the first layer, the second, and the second once more in the wide window. */
static int read_of_second(member *m)
{
    wraps_fail(WRAP_READ, m->rank == ODD ? 2 : 0);
    return forward(m);
}

static int wide_read(member *m)
{
    wraps_fail(WRAP_READ, m->rank == ODD ? 3 : 0);
    return forward(m);
}

static int query(member *m)
{
    wraps_fail(WRAP_EVENT_INFO, m->rank == ODD);
    return forward(m);
}

static int settle(member *m)
{
    wraps_fail(WRAP_ANY, 0);
    clFinish(m->queue);
    m->digest = branch_set_state(m);
    return 0;
}

static int reset(member *m)
{
    branch_set_reset(m);
    return 0;
}

static uint64_t state(members *all)
{
    uint64_t digest = DIGEST_START;
    members_do(all, settle);
    for (int rank = 0; rank < all->count; ++rank)
        digest = digest_of(digest, &all->of[rank].digest, sizeof digest);
    return digest;
}

/* All get an error, nothing changes, and the groups work again. */
static void refused(members *all, int (*work)(member *), int own, const char *own_words, int others,
                    const char *words, const char *what)
{
    members_do(all, reset);
    const uint64_t before = state(all);
    members_do(all, work);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == ODD ? own : others, rank == ODD ? own_words : words,
                      what);
    tap_ok(state(all) == before, "%s: nothing has changed in any layer", what);
    members_do(all, train);
    int good = 1;
    for (int rank = 0; rank < all->count; ++rank)
        good = good && all->of[rank].status == SBN_SUCCESS;
    tap_ok(good, "%s: the groups work again (%s)", what, all->of[0].sentence);
}

static void disagree(members *all, int (*work)(member *), const char *words, const char *what)
{
    refused(all, work, SBN_DISAGREEMENT, words, SBN_DISAGREEMENT, words, what);
}

static void check_disagreements(members *all)
{
    disagree(all, one_less,
             "rank 1 called forward of 2 layers|"
             "ranks 0, 2 called forward of layer \"third\" with 5 channels in place 3",
             "a layer less");
    disagree(all, plain_call,
             "rank 1 called backward of 1 layer;|"
             "ranks 0, 2 called backward of layer \"second\" with 7 channels in place 2",
             "a plain call");
    disagree(all, left_out,
             "rank 1 called forward of layer \"third\" with 5 channels in place 2|"
             "ranks 0, 2 called forward of layer \"second\" with 7 channels in place 2",
             "a layer left out");
    disagree(all, swapped,
             "rank 1 called backward of layer \"third\" with 5 channels in place 2|"
             "ranks 0, 2 called backward of layer \"second\" with 7 channels in place 2",
             "layers swapped");
    disagree(all, other_flags,
             "rank 1 called forward of layer \"third\" with 5 channels in place 3 (settings|"
             "ranks 0, 2 called forward of layer \"third\" with 5 channels in place 3 (settings",
             "other flags in one layer");
    disagree(all, other_operation,
             "rank 1 called backward of layer \"first\" with 3 channels (|"
             "ranks 0, 2 called forward of layer \"first\" with 3 channels (",
             "another operation");
    disagree(all, frozen_here,
             "rank 1 called forward of 2 layers|"
             "ranks 0, 2 called forward of layer \"third\" with 5 channels in place 3",
             "a layer frozen on one rank");
    disagree(all, frozen_backward,
             "rank 1 called frozen backward of layer \"first\" with 3 channels|"
             "ranks 0, 2 called backward of layer \"first\" with 3 channels",
             "a frozen backward pass");
    disagree(all, other_place,
             "rank 1 called backward of layer \"first\"|settings|ranks 0, 2 called backward of",
             "backward of another place of the same call");
}

static void check_errors(members *all)
{
    refused(all, no_saved, SBN_INVALID_ARGUMENT, "branches[1]: saved|NULL came", SBN_REMOTE_ERROR,
            "rank 1 called forward of layer \"second\" with 7 channels and reported "
            "SBN_INVALID_ARGUMENT",
            "no saved");
    refused(all, no_layer, SBN_INVALID_ARGUMENT, "branches[2]: layer|NULL came", SBN_REMOTE_ERROR,
            "rank 1 called forward and reported SBN_INVALID_ARGUMENT", "no layer");
    refused(all, same_saved, SBN_INVALID_ARGUMENT, "branches[2]: saved|used by 1", SBN_REMOTE_ERROR,
            "rank 1 called forward of layer \"first\" with 3 channels and reported",
            "one saved for two");
    refused(all, chained, SBN_INVALID_ARGUMENT,
            "branches[1]: forward of layer \"second\", rank 1, replica 0: x must not overlap y of "
            "layer \"first\" in the same call",
            SBN_REMOTE_ERROR, "rank 1 called forward of layer \"second\"|SBN_INVALID_ARGUMENT",
            "a layer after the other");
    refused(all, short_buffer, SBN_INVALID_ARGUMENT,
            "branches[1]: backward of layer \"second\", rank 1, replica 0: dx", SBN_REMOTE_ERROR,
            "rank 1 called backward of layer \"second\"|SBN_INVALID_ARGUMENT", "a short buffer");
    refused(all, wrong_result, SBN_INVALID_ARGUMENT, "branches[2]: result: size", SBN_REMOTE_ERROR,
            "rank 1|SBN_INVALID_ARGUMENT", "a wrong result");
    refused(all, too_few, SBN_TOO_FEW_VALUES, "forward of layer \"second\": more than 1|1 came",
            SBN_TOO_FEW_VALUES, "forward of layer \"second\": more than 1|1 came",
            "one value in one layer");
    const char *const second = "rank 1 called forward of layer \"second\" with 7 channels and "
                               "reported CL_OUT_OF_RESOURCES";
    refused(all, read_of_second, CL_OUT_OF_RESOURCES, "replica 0|clEnqueueReadBuffer",
            SBN_REMOTE_ERROR, second, "a device that fails in one layer");
    refused(all, wide_read, CL_OUT_OF_RESOURCES, "replica 0|clEnqueueReadBuffer", SBN_REMOTE_ERROR,
            second, "a device that fails in the wide window");
    refused(all, query, CL_OUT_OF_RESOURCES, "replica 0|clGetEventInfo", SBN_REMOTE_ERROR,
            "rank 1 called forward of layer \"first\"|CL_OUT_OF_RESOURCES",
            "a device that fails after the header");
}

/* These the others cannot learn of: nobody else calls. */
static int refused_alone(member *m)
{
    branch_set *set = branch_set_of(m);
    sbn_pass *pass = (sbn_pass *)&pass;
    char said[4][512];
    m->status = sbn_forward_branches(set->forward, 0, NULL) != SBN_INVALID_ARGUMENT;
    snprintf(said[0], sizeof said[0], "%s", sbn_last_error());
    m->status += sbn_backward_branches_begin(NULL, 2, &pass) != SBN_INVALID_ARGUMENT || pass;
    snprintf(said[1], sizeof said[1], "%s", sbn_last_error());
    m->status += sbn_forward_branches_begin(set->forward, LAYERS, NULL) != SBN_INVALID_ARGUMENT;
    snprintf(said[2], sizeof said[2], "%s", sbn_last_error());
    call c = right_call(m, 0);
    c.list[0].layer = (sbn_batchnorm *)m->group;
    m->status += sbn_forward_branches(c.list, LAYERS, NULL) != SBN_INVALID_ARGUMENT;
    snprintf(said[3], sizeof said[3], "%s", sbn_last_error());
    snprintf(m->sentence, sizeof m->sentence, "%.120s|%.120s|%.120s|%.120s", said[0], said[1],
             said[2], said[3]);
    return m->status;
}

static void check_refused_alone(members *all)
{
    members_do(all, reset);
    const uint64_t before = state(all);
    members_do(all, refused_alone);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], SBN_SUCCESS,
                      "count: at least 1 layer was expected, 0 came|"
                      "branches: an array of layers was expected, NULL came|"
                      "pass: a place for the handle was expected, NULL came|"
                      "branches[0]: layer: a handle of this kind was expected, another came",
                      "what the others cannot learn of");
    tap_ok(state(all) == before, "nothing has changed");
}

/* After the sums were combined one layer of rank 1 fails: the group has, as the others learn. */
static int failing_apply(member *m)
{
    wraps_fail(WRAP_WRITE, m->rank == ODD ? 2 : 0);
    return forward(m);
}

static void check_failed_group(members *all)
{
    members_do(all, failing_apply);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == ODD ? CL_OUT_OF_RESOURCES : SBN_SUCCESS,
                      rank == ODD ? "replica 0|clEnqueueWriteBuffer" : "",
                      "a device fails in one layer's apply");
    members_do(all, forward);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == ODD ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                      rank == ODD ? "rank 1|failed earlier|clEnqueueWriteBuffer"
                                  : "rank 1|SBN_GROUP_FAILED",
                      "afterwards");
}

/* A frozen layer that rank 1 redoes by itself: the others have all they need, and have gone on. */
static int failing_redo(member *m)
{
    if (forward(m))
        return m->status;
    branch_set *set = branch_set_of(m);
    wraps_fail(WRAP_READ, m->rank == ODD ? 1 + LAYERS : 0);
    member_says(m, sbn_backward_branches(set->backward, LAYERS, set->results[1]));
    wraps_fail(WRAP_ANY, 0);
    return m->status;
}

static void check_frozen(members *all)
{
    members_do(all, train);
    refused(all, no_saved, SBN_INVALID_ARGUMENT, "branches[1]: saved|NULL came", SBN_REMOTE_ERROR,
            "rank 1 called forward of layer \"frozen\" with 4 channels and reported "
            "SBN_INVALID_ARGUMENT",
            "an error in a layer of one's own");
    members_do(all, failing_redo);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == ODD ? CL_OUT_OF_RESOURCES : SBN_SUCCESS,
                      rank == ODD ? "replica 0|clEnqueueReadBuffer" : "",
                      "a device fails in a redo of this member's own");
    members_do(all, forward);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == ODD ? SBN_GROUP_FAILED : SBN_REMOTE_ERROR,
                      rank == ODD ? "rank 1|failed earlier|clEnqueueReadBuffer"
                                  : "rank 1|SBN_GROUP_FAILED",
                      "afterwards");
}

static void with_layers(const branch_shape layers[LAYERS], void (*check)(members *all))
{
    const size_t ones[MEMBERS] = {1, 1, 1};
    members all;
    members_open(&all, &device, MEMBERS, ones, ones, NULL);
    for (int rank = 0; rank < MEMBERS; ++rank)
        if (member_is_here(&all.of[rank]))
            branch_set_open(&all.of[rank], &device, layers, LAYERS);
    check(&all);
    for (int rank = 0; rank < MEMBERS; ++rank)
        if (member_is_here(&all.of[rank]))
            branch_set_close(&all.of[rank]);
    members_close(&all);
}

static void check_refusals(members *all)
{
    members_do(all, train);
    check_disagreements(all);
    check_errors(all);
    check_refused_alone(all);
    check_failed_group(all);
}

int main(int argc, char **argv)
{
    members_begin(&argc, &argv);
    if (fixture_open(&device))
        return members_end(fixture_missing());
    const long at_start = sbn_handles_open();
    with_layers(shapes, check_refusals);
    with_layers(frozen_redone, check_frozen);
    tap_ok(sbn_handles_open() == at_start, "no handle is left open");
    fixture_close(&device);
    return members_end(tap_done());
}
