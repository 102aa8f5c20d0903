#include "support/branch_calls.h"

#include <string.h>

#include "support/wraps.h"

int branches_forward(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    return rank_says(m, sbn_forward_branches(set->forward, BRANCH_LAYERS, set->results[0]));
}

int branches_train(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    if (branches_forward(m))
        return m->status;
    rank_says(m, sbn_backward_branches(set->backward, BRANCH_LAYERS, set->results[1]));
    clFinish(m->queue);
    return m->status;
}

branch_call branch_call_right(const test_rank *m, int back)
{
    branch_set *set = branch_set_of(m);
    branch_call c = {.count = BRANCH_LAYERS, .back = back, .results = set->results[back]};
    memcpy(c.list, back ? set->backward : set->forward, sizeof c.list);
    return c;
}

int branch_call_make(test_rank *m, const branch_call *c)
{
    return rank_says(m, c->back ? sbn_backward_branches(c->list, c->count, c->results)
                                : sbn_forward_branches(c->list, c->count, c->results));
}

static int settle(test_rank *m)
{
    wraps_fail(WRAP_ANY, 0);
    clFinish(m->queue);
    m->digest = branch_set_state(m);
    return 0;
}

int branches_reset(test_rank *m)
{
    branch_set_reset(m);
    return 0;
}

uint64_t branches_state(test_ranks *all)
{
    uint64_t digest = DIGEST_START;
    ranks_do(all, settle);
    for (int rank = 0; rank < all->count; ++rank)
        digest = digest_of(digest, &all->of[rank].digest, sizeof digest);
    return digest;
}

void branches_refused(test_ranks *all, int (*work)(test_rank *), int own, const char *own_words,
                      int others, const char *words, const char *what)
{
    ranks_do(all, branches_reset);
    const uint64_t before = branches_state(all);
    ranks_do(all, work);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == BRANCH_ODD ? own : others,
                    rank == BRANCH_ODD ? own_words : words, what);
    tap_ok(branches_state(all) == before, "%s: nothing has changed in any layer", what);
    ranks_do(all, branches_train);
    int good = 1;
    for (int rank = 0; rank < all->count; ++rank)
        good = good && all->of[rank].status == SBN_SUCCESS;
    tap_ok(good, "%s: the groups work again (%s)", what, all->of[0].sentence);
}

void branches_with(const fixture *f, const branch_shape layers[BRANCH_LAYERS],
                   void (*check)(test_ranks *all))
{
    const size_t ones[BRANCH_RANKS] = {1, 1, 1};
    test_ranks all;
    ranks_open(&all, f, BRANCH_RANKS, ones, ones, NULL);
    for (int rank = 0; rank < BRANCH_RANKS; ++rank)
        if (rank_is_here(&all.of[rank]))
            branch_set_open(&all.of[rank], f, layers, BRANCH_LAYERS);
    check(&all);
    for (int rank = 0; rank < BRANCH_RANKS; ++rank)
        if (rank_is_here(&all.of[rank]))
            branch_set_close(&all.of[rank]);
    ranks_close(&all);
}
