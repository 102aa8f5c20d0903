/*
 * Ranks that do not agree about the layers of a call: each gets the sentence
 * that names the first place that differs, nothing has changed in any layer, and
 * the groups go on.
 */
#include <string.h>

#include "support/branch_calls.h"

static fixture device;

static const branch_shape shapes[BRANCH_LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "second", .channels = 7, .plane = 9, .samples = 3, .put = huge},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2},
};

static int one_less(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    c.count -= m->rank == BRANCH_ODD;
    return branch_call_make(m, &c);
}

static int plain_call(test_rank *m)
{
    branch_call c = branch_call_right(m, 1);
    c.count = m->rank == BRANCH_ODD ? 1 : c.count;
    return branch_call_make(m, &c);
}

static int left_out(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    if (m->rank == BRANCH_ODD)
        c.list[1] = c.list[--c.count];
    return branch_call_make(m, &c);
}

static int swapped(test_rank *m)
{
    branch_call c = branch_call_right(m, 1);
    if (m->rank == BRANCH_ODD) {
        const sbn_branch last = c.list[2];
        c.list[2] = c.list[1];
        c.list[1] = last;
    }
    return branch_call_make(m, &c);
}

static int other_flags(test_rank *m)
{
    branch_call c = branch_call_right(m, 0);
    c.list[2].flags = m->rank == BRANCH_ODD ? SBN_KEEP_RUNNING_STATS : 0;
    return branch_call_make(m, &c);
}

static int other_operation(test_rank *m)
{
    const branch_call c = branch_call_right(m, m->rank == BRANCH_ODD);
    return branch_call_make(m, &c);
}

/* The last layer is frozen on rank 1: it combines nothing there. */
static int frozen_here(test_rank *m)
{
    const branch_call c = branch_call_right(m, 0);
    must(sbn_batchnorm_set_frozen(c.list[2].layer, m->rank == BRANCH_ODD),
         "sbn_batchnorm_set_frozen");
    branch_call_make(m, &c);
    must(sbn_batchnorm_set_frozen(c.list[2].layer, 0), "sbn_batchnorm_set_frozen");
    return m->status;
}

/* Gradients over the group of a frozen layer, which the others branches_train. */
static int frozen_backward(test_rank *m)
{
    sbn_saved *saved;
    branch_call c = branch_call_right(m, 1);
    must(sbn_saved_create(c.list[0].layer, &saved), "sbn_saved_create");
    must(sbn_batchnorm_set_frozen(c.list[0].layer, 1), "sbn_batchnorm_set_frozen");
    must(sbn_forward(c.list[0].layer, c.list[0].shards, saved, 0, NULL), "sbn_forward");
    must(sbn_batchnorm_set_frozen(c.list[0].layer, 0), "sbn_batchnorm_set_frozen");
    clFinish(m->queue);
    for (size_t r = 0; r < m->replicas; ++r)
        slice_reset(&branch_set_of(m)->slices[0][r]);
    if (m->rank == BRANCH_ODD)
        c.list[0].saved = saved;
    c.list[0].flags = SBN_GLOBAL_GRADIENTS;
    branch_call_make(m, &c);
    sbn_saved_destroy(saved);
    return m->status;
}

/* Two forwards of a layer in one call; the odd rank takes them for each other going back. */
static int other_place(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    sbn_branch twice[2] = {set->forward[0], set->forward[0]};
    sbn_shard shards[RANK_REPLICAS];
    sbn_saved *saved[2];
    for (int i = 0; i < 2; ++i) {
        must(sbn_saved_create(twice[i].layer, &saved[i]), "sbn_saved_create");
        twice[i].saved = saved[i];
        twice[i].flags = SBN_KEEP_RUNNING_STATS;
    }
    /* The second one's output has to go elsewhere. */
    for (size_t r = 0; r < m->replicas; ++r) {
        shards[r] = twice[1].shards[r];
        shards[r].y = shards[r].dx;
    }
    twice[1].shards = shards;
    must(sbn_forward_branches(twice, 2, NULL), "sbn_forward_branches");
    clFinish(m->queue);
    for (size_t r = 0; r < m->replicas; ++r)
        slice_reset(&set->slices[0][r]);
    rank_says(m,
              sbn_backward(twice[0].layer, twice[0].shards, saved[m->rank == BRANCH_ODD], 0, NULL));
    for (int i = 0; i < 2; ++i)
        sbn_saved_destroy(saved[i]);
    return m->status;
}

static void disagree(test_ranks *all, int (*work)(test_rank *), const char *words, const char *what)
{
    branches_refused(all, work, SBN_DISAGREEMENT, words, SBN_DISAGREEMENT, words, what);
}

static void check_disagreements(test_ranks *all)
{
    ranks_do(all, branches_train);
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
             "all ranks called forward of layer \"third\" with 5 channels in place 3 |"
             "(flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2)",
             "other flags in one layer");
    disagree(all, other_operation,
             "rank 1 called backward of layer \"first\" with 3 channels; |"
             "ranks 0, 2 called forward of layer \"first\" with 3 channels",
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
             "all ranks called backward of layer \"first\" with 3 channels |"
             "(saved in place 2 on rank 1, 1 on ranks 0, 2)",
             "backward of another place of the same call");
}

static void checks(void)
{
    branches_with(&device, shapes, check_disagreements);
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
