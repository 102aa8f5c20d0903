#include "support/branch_set.h"

#include <math.h>
#include <string.h>

#include "group/group.h"

static branch_set sets[RANKS_MAX];

branch_set *branch_set_of(const test_rank *m)
{
    return &sets[m->rank];
}

/* Each rank's transport has a context of its own. */
static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    branch_set *set = sets;
    while (set->inner.context != context)
        ++set;
    ++set->cost.starts[tag];
    set->cost.words[tag] += count;
    return set->inner.start(context, tag, words, count, request);
}

/* A few values of one channel. */
static void put(const slice *s, branch_values values, int rank)
{
    if (values == usual || s->elements == 0 || (values == huge_on_rank_1 && rank != 1))
        return;
    const float value = values == nan_in_one ? NAN : 3e30f;
    buffer_fill(s, &s->shard.x, s->plane, value);
    buffer_fill(s, &s->shard.dy, s->plane, value);
}

static void open_branch(const test_rank *m, const fixture *f, const branch_shape *shape, size_t i)
{
    branch_set *set = branch_set_of(m);
    set->layers[i] = shape->again
                         ? set->layers[i - 1]
                         : LAYER_WITH(m->group, .name = shape->name, .channels = shape->channels);
    if (shape->fixed)
        must(sbn_batchnorm_set_training(set->layers[i], 0), "sbn_batchnorm_set_training");
    set->saved[i] = fixture_saved(set->layers[i]);
    for (size_t r = 0; r < m->replicas; ++r) {
        const size_t place = (size_t)m->rank + r + 2 * i;
        slice_open(&set->slices[i][r], f, m->queue, 10 * (size_t)m->rank + 3 * r,
                   place % 3 == 2 && !shape->full ? 0 : shape->samples, shape->channels,
                   shape->plane, 50u + (unsigned)i);
        put(&set->slices[i][r], shape->put, m->rank);
        set->shards[i][r] = set->slices[i][r].shard;
    }
    set->forward[i] = (sbn_branch){sizeof(sbn_branch), set->layers[i], set->shards[i],
                                   set->saved[i], shape->flags};
    set->backward[i] = (sbn_branch){sizeof(sbn_branch), set->layers[i], set->shards[i],
                                    set->saved[i], shape->back};
}

static void open_set(test_rank *m, const fixture *f, const branch_shape *shapes, size_t count)
{
    branch_set *set = branch_set_of(m);
    set->count = count;
    for (size_t i = 0; i < count; ++i)
        open_branch(m, f, &shapes[i], i);
    sbn_transport *transport = &m->group->communicator.transport;
    set->inner = *transport;
    transport->start = transport->start ? start : NULL;
    branch_set_reset(m);
}

static void close_set(const test_rank *m)
{
    branch_set *set = branch_set_of(m);
    for (size_t i = set->count; i-- > 0;) {
        slices_close(set->slices[i], m->replicas);
        must(sbn_saved_destroy(set->saved[i]), "sbn_saved_destroy");
        if (i == 0 || set->layers[i] != set->layers[i - 1])
            must(sbn_batchnorm_destroy(set->layers[i]), "sbn_batchnorm_destroy");
    }
    m->group->communicator.transport = set->inner;
}

void branch_sets_open(test_ranks *all, const fixture *f, int ranks, const size_t *replicas,
                      const branch_shape *shapes, size_t count)
{
    const size_t samples[RANK_REPLICAS] = {1, 1, 1, 1, 1, 1, 1, 1};
    memset(sets, 0, sizeof sets);
    ranks_open(all, f, ranks, replicas, samples, NULL);
    for (int rank = 0; rank < ranks; ++rank)
        if (rank_is_here(&all->of[rank]))
            open_set(&all->of[rank], f, shapes, count);
}

void branch_sets_close(test_ranks *all)
{
    for (int rank = 0; rank < all->count; ++rank)
        if (rank_is_here(&all->of[rank]))
            close_set(&all->of[rank]);
    ranks_close(all);
}

void branch_set_reset(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    enum { MOST = 128 };
    float mean[MOST], var[MOST];
    for (size_t i = 0; i < set->count; ++i) {
        for (size_t c = 0; c < MOST; ++c) {
            mean[c] = 0.25f * (float)(i + c % 5);
            var[c] = 1.0f + 0.5f * (float)((i + c) % 3);
        }
        const int64_t batches = 3;
        must(sbn_batchnorm_set_running_stats(set->layers[i], mean, var, &batches), "set");
        slices_reset(set->slices[i], m->replicas);
    }
    memset(set->results, 0, sizeof set->results);
    for (size_t i = 0; i < BRANCHES_MAX; ++i)
        set->results[0][i].size = set->results[1][i].size = sizeof(sbn_result);
    memset(&set->cost, 0, sizeof set->cost);
}

int branch_set_call(test_rank *m, size_t number)
{
    branch_set *set = branch_set_of(m);
    const size_t back = number / set->count, i = number % set->count;
    const sbn_branch *b = back ? &set->backward[i] : &set->forward[i];
    return rank_says(m, (back ? sbn_backward : sbn_forward)(b->layer, b->shards, b->saved, b->flags,
                                                            &set->results[back][i]));
}

int branch_set_train(test_rank *m)
{
    int status = SBN_SUCCESS;
    for (size_t number = 0; number < 2 * branch_set_of(m)->count && !status; ++number)
        status = branch_set_call(m, number);
    return status;
}

int branch_set_train_together(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    int status = sbn_forward_branches(set->forward, set->count, set->results[0]);
    if (!status)
        status = sbn_backward_branches(set->backward, set->count, set->results[1]);
    rank_says(m, status);
    clFinish(m->queue);
    return status;
}

int branch_set_digest(test_rank *m)
{
    const branch_set *set = branch_set_of(m);
    uint64_t digest = SBN_DIGEST_START;
    clFinish(m->queue);
    /* sbn_result.wide depends on the other layers of the call: tests/pass/branches.c. */
    for (int back = 0; back < 2; ++back)
        for (size_t i = 0; i < set->count; ++i) {
            digest = sbn__digest(digest, &set->results[back][i].count, sizeof(uint64_t));
            digest = sbn__digest(digest, &set->results[back][i].synchronised, sizeof(int));
        }
    for (size_t i = 0; i < set->count; ++i) {
        digest = digest_layer(digest, set->layers[i], set->saved[i]);
        digest = digest_slices(digest, set->slices[i], m->replicas);
    }
    m->digest = digest;
    branch_set_reset(m);
    return SBN_SUCCESS;
}

uint64_t branch_set_state(test_rank *m)
{
    const branch_set *set = branch_set_of(m);
    clFinish(m->queue);
    uint64_t digest = SBN_DIGEST_START;
    for (size_t i = 0; i < set->count; ++i) {
        digest = digest_layer(digest, set->layers[i], set->saved[i]);
        digest = digest_untouched(digest, set->slices[i], m->replicas);
    }
    return digest;
}

void branch_sets_same_bits(test_ranks *all, const char *what)
{
    ranks_do(all, branch_set_digest);
    for (int rank = 0; rank < all->count; ++rank) {
        const uint64_t digest = all->of[rank].digest;
        uint64_t *first = &branch_set_of(&all->of[rank])->first;
        if (*first)
            tap_ok(digest == *first, "%s: rank %d: the same bits", what, rank);
        else
            *first = digest;
    }
}
