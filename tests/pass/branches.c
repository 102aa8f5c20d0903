/*
 * Several layers in one call, alone and over ranks (threads over a hub, ranks over MPI): for each layer the bits of a
 * call of its own, and one header and one sum of words for all of them, whichever layers have to be redone.
 */
#include <stdio.h>
#include <string.h>

#include "support/branch_set.h"
#include "support/main.h"
#include "support/refused_ranks.h"

/* Every sort of layer at once. */
static const branch_shape all_sorts[] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "first", .channels = 3, .plane = 33, .samples = 2, .again = 1},
    {.name = "many", .channels = 70, .plane = 4, .samples = 2, .flags = SBN_KEEP_RUNNING_STATS},
    {.name = "frozen", .channels = 5, .plane = 40, .samples = 2, .fixed = 1},
    {.name = "nan", .channels = 2, .plane = 300, .samples = 2, .put = nan_in_one},
    {.name = "wide", .channels = 1, .plane = 500, .samples = 3, .put = huge},
    {.name = "empty", .channels = 4, .plane = 7, .samples = 0},
    {.name = "frozen global",
     .channels = 6,
     .plane = 1,
     .samples = 3,
     .back = SBN_GLOBAL_GRADIENTS,
     .fixed = 1},
};

/* No layer of the group needs the wide format, but the frozen one of rank 1 alone does. */
static const branch_shape one_wide[] = {
    {.name = "frozen", .channels = 5, .plane = 40, .samples = 2, .put = huge_on_rank_1, .fixed = 1},
    {.name = "second", .channels = 7, .plane = 9, .samples = 3, .back = SBN_GLOBAL_GRADIENTS},
    {.name = "third", .channels = 3, .plane = 20, .samples = 2},
};

static const branch_shape all_frozen[] = {
    {.name = "frozen", .channels = 5, .plane = 40, .samples = 2, .fixed = 1},
    {.name = "frozen too", .channels = 7, .plane = 9, .samples = 3, .fixed = 1},
};

/* Two passes of half the layers each, under way at the same time: back the second half begins. */
static int interleaved(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    const size_t half = set->count / 2;
    sbn_pass *passes[2] = {NULL, NULL};
    int status = SBN_SUCCESS;
    for (int back = 0; back < 2 && !status; ++back) {
        const sbn_branch *list = back ? set->backward : set->forward;
        int (*begin)(const sbn_branch *, size_t, sbn_pass **) = back ? sbn_backward_branches_begin
                                                                     : sbn_forward_branches_begin;
        const size_t at[2] = {back ? half : 0, back ? 0 : half};
        for (int i = 0; i < 2; ++i)
            must(begin(list + at[i], at[i] ? set->count - half : half, &passes[i]), "begin");
        must(sbn_pass_progress(passes[0], NULL), "progress");
        status = sbn_pass_end(passes[1], set->results[back] + at[1]);
        const int first = sbn_pass_end(passes[0], set->results[back] + at[0]);
        status = status ? status : first;
    }
    return rank_says(m, status);
}

/* Of a forward and a backward pass, as include/syncbn/transport.h says. */
static branch_cost cost_of(const branch_shape *shapes, size_t count)
{
    branch_cost c = {{0}, {0}};
    for (int back = 0; back < 2; ++back) {
        size_t words = 0, repeated = 0;
        for (size_t i = 0; i < count; ++i) {
            const branch_shape *shape = &shapes[i];
            if (shape->fixed && !(back && shape->back & SBN_GLOBAL_GRADIENTS))
                continue;
            words += 1 + (back ? 9 : 8) * shape->channels;
            repeated += shape->put == huge ? 1 + 24 * shape->channels : 0;
        }
        c.starts[SBN_TAG_HEADER] += words > 0;
        c.starts[SBN_TAG_WORDS] += words > 0;
        c.starts[SBN_TAG_REPEAT] += repeated > 0;
        c.words[SBN_TAG_HEADER] += words ? 18 : 0;
        c.words[SBN_TAG_WORDS] += words ? 1 + words : 0;
        c.words[SBN_TAG_REPEAT] += repeated ? 1 + repeated : 0;
    }
    return c;
}

/* The layers that were redone are those that had to be; of a single rank the devices may decide. */
static int right_are_wide(const test_rank *m, int ranks, const branch_shape *shapes, size_t count)
{
    const branch_set *set = branch_set_of(m);
    int right = 1;
    for (size_t i = 0; i < 2 * count; ++i) {
        const branch_values put = shapes[i % count].put;
        const int back = i >= count, wide = set->results[back][i % count].wide;
        const int expected = put == huge || (back && put == huge_on_rank_1 && m->rank == 1);
        right = right && (wide == expected || (wide == -1 && ranks == 1));
    }
    return right;
}

static void check_cost(const test_ranks *all, const branch_shape *shapes, size_t count,
                       const char *what)
{
    const branch_cost c = cost_of(shapes, count);
    for (int rank = 0; rank < all->count; ++rank) {
        const test_rank *m = &all->of[rank];
        const branch_set *set = branch_set_of(m);
        tap_ok(!rank_is_here(m) || right_are_wide(m, all->count, shapes, count),
               "%s: rank %d: the layers redone are those that have to be", what, rank);
        if (all->count == 1)
            continue;
        const size_t *starts = set->cost.starts, *words = set->cost.words;
        tap_ok(!rank_is_here(m) || memcmp(&set->cost, &c, sizeof c) == 0,
               "%s: rank %d: expected %zu headers, %zu sums of %zu words, %zu repeats of %zu; got "
               "%zu, %zu of %zu, %zu of %zu",
               what, rank, c.starts[0], c.starts[1], c.words[1], c.starts[2], c.words[2], starts[0],
               starts[1], words[1], starts[2], words[2]);
    }
}

/* Whichever way the passes are called, every rank has the same bits. */
static void check(int count, const size_t *replicas, const branch_shape *shapes, size_t branches,
                  const char *what)
{
    static const struct {
        int (*work)(test_rank *);
        const char *name;
    } ways[] = {{branch_set_train, "a call for each layer"},
                {branch_set_train_together, "one call"},
                {interleaved, "two calls under way"}};
    test_ranks all;
    branch_sets_open(&all, &device, count, replicas, shapes, branches);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        char name[128];
        snprintf(name, sizeof name, "%s, %s", what, ways[i].name);
        ranks_do(&all, ways[i].work);
        ranks_expect(&all, SBN_SUCCESS, "", SBN_SUCCESS, "", name);
        if (ways[i].work == branch_set_train_together)
            check_cost(&all, shapes, branches, what);
        branch_sets_same_bits(&all, name);
    }
    branch_sets_close(&all);
}

#define CHECK(count, replicas, shapes, what) \
    check(count, replicas, shapes, sizeof(shapes) / sizeof *(shapes), what)

void checks(void)
{
    const size_t single[] = {1}, three[] = {3}, mixed[] = {1, 3, 0, 2}, ones[] = {1, 1};
    CHECK(1, single, all_sorts, "one replica");
    CHECK(1, three, all_sorts, "three replicas");
    CHECK(4, mixed, all_sorts, "ranks of 1, 3, 0 and 2 replicas");
    CHECK(2, ones, one_wide, "a frozen layer redone by one rank alone");
    CHECK(2, ones, all_frozen, "nothing to combine with others");
}
