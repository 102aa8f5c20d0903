#include "support/branch_calls.h"

#include <string.h>

#include "support/wraps.h"

int branches_forward(member *m)
{
    branch_set *set = branch_set_of(m);
    return member_says(m, sbn_forward_branches(set->forward, BRANCH_LAYERS, set->results[0]));
}

int branches_train(member *m)
{
    branch_set *set = branch_set_of(m);
    if (branches_forward(m))
        return m->status;
    member_says(m, sbn_backward_branches(set->backward, BRANCH_LAYERS, set->results[1]));
    clFinish(m->queue);
    return m->status;
}

branch_call branch_call_right(const member *m, int back)
{
    branch_set *set = branch_set_of(m);
    branch_call c = {.count = BRANCH_LAYERS, .back = back, .results = set->results[back]};
    memcpy(c.list, back ? set->backward : set->forward, sizeof c.list);
    return c;
}

int branch_call_make(member *m, const branch_call *c)
{
    return member_says(m, c->back ? sbn_backward_branches(c->list, c->count, c->results)
                                  : sbn_forward_branches(c->list, c->count, c->results));
}

static int settle(member *m)
{
    wraps_fail(WRAP_ANY, 0);
    clFinish(m->queue);
    m->digest = branch_set_state(m);
    return 0;
}

int branches_reset(member *m)
{
    branch_set_reset(m);
    return 0;
}

uint64_t branches_state(members *all)
{
    uint64_t digest = DIGEST_START;
    members_do(all, settle);
    for (int rank = 0; rank < all->count; ++rank)
        digest = digest_of(digest, &all->of[rank].digest, sizeof digest);
    return digest;
}

void branches_refused(members *all, int (*work)(member *), int own, const char *own_words,
                      int others, const char *words, const char *what)
{
    members_do(all, branches_reset);
    const uint64_t before = branches_state(all);
    members_do(all, work);
    for (int rank = 0; rank < all->count; ++rank)
        member_expect(&all->of[rank], rank == BRANCH_ODD ? own : others,
                      rank == BRANCH_ODD ? own_words : words, what);
    tap_ok(branches_state(all) == before, "%s: nothing has changed in any layer", what);
    members_do(all, branches_train);
    int good = 1;
    for (int rank = 0; rank < all->count; ++rank)
        good = good && all->of[rank].status == SBN_SUCCESS;
    tap_ok(good, "%s: the groups work again (%s)", what, all->of[0].sentence);
}

void branches_with(const fixture *f, const branch_shape layers[BRANCH_LAYERS],
                   void (*check)(members *all))
{
    const size_t ones[BRANCH_MEMBERS] = {1, 1, 1};
    members all;
    members_open(&all, f, BRANCH_MEMBERS, ones, ones, NULL);
    for (int rank = 0; rank < BRANCH_MEMBERS; ++rank)
        if (member_is_here(&all.of[rank]))
            branch_set_open(&all.of[rank], f, layers, BRANCH_LAYERS);
    check(&all);
    for (int rank = 0; rank < BRANCH_MEMBERS; ++rank)
        if (member_is_here(&all.of[rank]))
            branch_set_close(&all.of[rank]);
    members_close(&all);
}
