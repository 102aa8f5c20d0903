#include "support/ranks.h"

#include <stdio.h>
#include <string.h>

static void open_rank(test_rank *m, const fixture *f, const size_t *samples, size_t first,
                      const sbn_group_config *config)
{
    cl_command_queue queues[RANK_REPLICAS];
    sbn_group_config mine = *config;
    if (f->device)
        m->queue = fixture_queue(f, 0);
    for (size_t r = 0; r < m->replicas; ++r) {
        queues[r] = m->queue;
        slice_open(&m->slices[r], f, m->queue, first, samples[r], RANK_CHANNELS, RANK_PLANE, 9);
        m->shards[r] = m->slices[r].shard;
        first += samples[r];
    }
    mine.queues = queues;
    mine.replicas = m->replicas;
    must(sbn_group_create(&mine, &m->group), "sbn_group_create");
    m->layer = LAYER_WITH(m->group, .channels = RANK_CHANNELS, .name = "first");
    m->second = LAYER_WITH(m->group, .channels = RANK_CHANNELS, .name = "second");
    m->saved = fixture_saved(m->layer);
    m->second_saved = fixture_saved(m->second);
}

void ranks_open(test_ranks *all, const fixture *f, int count, const size_t *replicas,
                const size_t *samples, const sbn_group_config *config)
{
    sbn_group_config mine = SBN_GROUP_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    size_t first = 0, usual[RANKS_MAX * RANK_REPLICAS];
    for (size_t i = 0; i < sizeof usual / sizeof *usual; ++i)
        usual[i] = 3 - i % 2;
    samples = samples ? samples : usual;
    memset(all, 0, sizeof *all);
    all->count = count;
    all->transports = transports_open(count);
    if (config)
        mine = *config;
    for (int rank = 0; rank < count; ++rank) {
        test_rank *m = &all->of[rank];
        m->rank = rank;
        m->replicas = replicas ? replicas[rank] : 1;
        if (all->transports && rank_is_here(m)) {
            transports_get(all->transports, rank, &transport);
            mine.transport = &transport;
        }
        if (rank_is_here(m))
            open_rank(m, f, samples, first, &mine);
        for (size_t r = 0; r < m->replicas; ++r)
            first += *samples++;
    }
}

void ranks_open_waits(test_ranks *all, const fixture *f, int count, const size_t *replicas,
                      double timeout, sbn_timeout_action action)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.timeout = timeout;
    config.on_timeout = action;
    ranks_open(all, f, count, replicas, NULL, &config);
}

void ranks_close(test_ranks *all)
{
    for (int rank = 0; rank < all->count; ++rank) {
        test_rank *m = &all->of[rank];
        if (!rank_is_here(m))
            continue;
        slices_close(m->slices, m->replicas);
        sbn_saved_destroy(m->saved);
        fixture_end(m->layer, m->second_saved);
        sbn_batchnorm_destroy(m->second);
        sbn_group_destroy(m->group);
        if (m->queue)
            clReleaseCommandQueue(m->queue);
    }
    transports_close(all->transports);
}

void ranks_do(test_ranks *all, int (*work)(test_rank *))
{
    ranks_run(all, work);
    for (int rank = 0; rank < all->count; ++rank) {
        test_rank *m = &all->of[rank];
        ranks_broadcast(rank, &m->status, sizeof m->status);
        ranks_broadcast(rank, m->sentence, sizeof m->sentence);
        ranks_broadcast(rank, &m->result, sizeof m->result);
        ranks_broadcast(rank, &m->digest, sizeof m->digest);
    }
}

/* What some ranks do, and which. */
static int (*work_of_some)(test_rank *);
static unsigned some;

static int do_if_among(test_rank *m)
{
    expect_leaks();
    return some >> m->rank & 1 ? work_of_some(m) : SBN_SUCCESS;
}

void ranks_do_some(test_ranks *all, unsigned who, int (*work)(test_rank *))
{
    some = who;
    work_of_some = work;
    ranks_do(all, do_if_among);
}

int rank_says(test_rank *m, int status)
{
    m->status = status;
    snprintf(m->sentence, sizeof m->sentence, "%s", sbn_last_error());
    return status;
}

int rank_forward(test_rank *m)
{
    m->result = (sbn_result)SBN_RESULT_INIT;
    return rank_says(m, sbn_forward(m->layer, m->shards, m->saved, 0, &m->result));
}

int rank_forward_twice(test_rank *m)
{
    sbn_pass *first, *second;
    sbn_result result = SBN_RESULT_INIT;
    m->result = result;
    must(sbn_forward_begin(m->layer, m->shards, m->saved, 0, &first), "begin");
    must(sbn_forward_begin(m->second, m->shards, m->second_saved, 0, &second), "begin");
    const int status = sbn_pass_end(second, &result);
    rank_says(m, sbn_pass_end(first, &m->result));
    const int alike = status == m->status && result.synchronised == m->result.synchronised;
    return m->status = alike ? status : 1;
}

int rank_train(test_rank *m)
{
    if (rank_forward(m))
        return m->status;
    const int status = sbn_backward(m->layer, m->shards, m->saved, SBN_GLOBAL_GRADIENTS,
                                    &m->result);
    if (m->queue)
        clFinish(m->queue);
    return rank_says(m, status);
}

static uint64_t digest_statistics(uint64_t digest, const test_rank *m)
{
    return digest_layer(digest_layer(digest, m->layer, m->saved), m->second, NULL);
}

/* Every replica's gradients and every rank's statistics must be the first one's. */
static uint64_t digest_common(const test_ranks *all)
{
    uint64_t statistics = 0, gradients = 0, odd = 0;
    for (int rank = 0; rank < all->count; ++rank) {
        const test_rank *m = &all->of[rank];
        uint64_t own = rank_is_here(m) ? digest_statistics(SBN_DIGEST_START, m) : 0;
        ranks_broadcast(rank, &own, sizeof own);
        statistics = statistics ? statistics : own;
        odd += own != statistics;
        for (size_t r = 0; r < m->replicas; ++r) {
            uint64_t digest = rank_is_here(m) ? digest_gradients(SBN_DIGEST_START, &m->slices[r])
                                              : 0;
            ranks_broadcast(rank, &digest, sizeof digest);
            gradients = gradients ? gradients : digest;
            odd += digest != gradients;
        }
    }
    tap_ok(!odd, "gradients of replicas and statistics of ranks: %d are not the first ones",
           (int)odd);
    return statistics ^ gradients;
}

uint64_t ranks_digest(test_ranks *all)
{
    uint64_t digest = digest_common(all);
    for (int which = 0; which < 2; ++which)
        for (int rank = 0; rank < all->count; ++rank)
            for (size_t r = 0; r < all->of[rank].replicas; ++r) {
                const slice *s = &all->of[rank].slices[r];
                if (rank_is_here(&all->of[rank]))
                    digest = digest_buffer(digest, s, which ? &s->shard.y : &s->shard.dx,
                                           s->elements);
                ranks_broadcast(rank, &digest, sizeof digest);
            }
    return digest;
}

/* Of ranks_digest_of, when they are closed. */
static test_ranks last;

uint64_t ranks_digest_of(const fixture *f, int count, const size_t *replicas, const size_t *samples,
                         int (*work)(test_rank *m), const char *what)
{
    ranks_open(&last, f, count, replicas, samples, NULL);
    ranks_do(&last, work);
    for (int rank = 0; rank < count; ++rank)
        rank_expect(&last.of[rank], SBN_SUCCESS, "", what);
    const uint64_t digest = ranks_digest(&last);
    ranks_close(&last);
    return digest;
}

void ranks_same_bits(const fixture *f, int (*work)(test_rank *m), const char *what)
{
    const size_t two[] = {2}, ones[] = {1, 1}, samples[] = {1, 3};
    const uint64_t digest = ranks_digest_of(f, 1, two, samples, work, what);
    const uint64_t own = last.of[0].digest;
    const int same = digest == ranks_digest_of(f, 2, ones, samples, work, what);
    tap_ok(same && own == last.of[0].digest && own == last.of[1].digest,
           "%s: the bits of one rank on two", what);
}

void rank_reset(test_rank *m)
{
    slices_reset(m->slices, m->replicas);
}

uint64_t rank_state(test_rank *m)
{
    return digest_untouched(digest_statistics(SBN_DIGEST_START, m), m->slices, m->replicas);
}

void rank_expect(const test_rank *m, int status, const char *words, const char *what)
{
    tap_ok(m->status == status && holds_words(m->sentence, words) && (status || !*m->sentence),
           "%s: rank %d: expected %s (%s), got %s: %s", what, m->rank, sbn_strerror(status), words,
           sbn_strerror(m->status), m->sentence);
}
