#include "support/ranks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static void open_member(member *m, const fixture *f, const size_t *samples, size_t first,
                        const sbn_group_config *config)
{
    cl_command_queue queues[MEMBER_REPLICAS];
    sbn_group_config mine = *config;
    m->queue = fixture_queue(f, 0);
    for (size_t r = 0; r < m->replicas; ++r) {
        queues[r] = m->queue;
        slice_open(&m->slices[r], f, m->queue, first, samples[r], MEMBER_CHANNELS, MEMBER_PLANE, 9);
        m->shards[r] = m->slices[r].shard;
        first += samples[r];
    }
    mine.queues = queues;
    mine.replicas = m->replicas;
    must(sbn_group_create(&mine, &m->group), "sbn_group_create");
    sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
    layer.channels = MEMBER_CHANNELS;
    layer.name = "first";
    must(sbn_batchnorm_create(m->group, &layer, &m->layer), "sbn_batchnorm_create");
    layer.name = "second";
    must(sbn_batchnorm_create(m->group, &layer, &m->second), "sbn_batchnorm_create");
    must(sbn_saved_create(m->layer, &m->saved), "sbn_saved_create");
    must(sbn_saved_create(m->second, &m->second_saved), "sbn_saved_create");
}

void members_open(members *all, const fixture *f, int count, const size_t *replicas,
                  const size_t *samples, const sbn_group_config *config)
{
    sbn_group_config mine = SBN_GROUP_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    size_t first = 0;
    memset(all, 0, sizeof *all);
    all->count = count;
    all->place = place_open(count);
    if (config)
        mine = *config;
    for (int rank = 0; rank < count; ++rank) {
        member *m = &all->of[rank];
        m->rank = rank;
        m->replicas = replicas[rank];
        if (all->place && member_is_here(m)) {
            place_transport(all->place, rank, &transport);
            mine.transport = &transport;
        }
        if (member_is_here(m))
            open_member(m, f, samples, first, &mine);
        for (size_t r = 0; r < m->replicas; ++r)
            first += *samples++;
    }
}

void members_close(members *all)
{
    for (int rank = 0; rank < all->count; ++rank) {
        member *m = &all->of[rank];
        if (!member_is_here(m))
            continue;
        for (size_t r = 0; r < m->replicas; ++r)
            slice_close(&m->slices[r]);
        sbn_saved_destroy(m->saved);
        sbn_saved_destroy(m->second_saved);
        sbn_batchnorm_destroy(m->layer);
        sbn_batchnorm_destroy(m->second);
        sbn_group_destroy(m->group);
        clReleaseCommandQueue(m->queue);
    }
    place_close(all->place);
}

void members_do(members *all, int (*work)(member *))
{
    members_run(all, work);
    for (int rank = 0; rank < all->count; ++rank) {
        member *m = &all->of[rank];
        members_share(rank, &m->status, sizeof m->status);
        members_share(rank, m->sentence, sizeof m->sentence);
        members_share(rank, &m->result, sizeof m->result);
        members_share(rank, &m->digest, sizeof m->digest);
    }
}

long members_leave(members *all, int (*work)(member *))
{
    long least = LONG_MAX;
    for (int i = 0; i < 3; ++i) {
        const long before = sbn__handles_open();
        members_do(all, work);
        const long more = sbn__handles_open() - before;
        least = more < least ? more : least;
    }
    return least;
}

int member_says(member *m, int status)
{
    m->status = status;
    snprintf(m->sentence, sizeof m->sentence, "%s", sbn_last_error());
    return status;
}

int member_forward(member *m)
{
    m->result = (sbn_result)SBN_RESULT_INIT;
    return member_says(m, sbn_forward(m->layer, m->shards, m->saved, 0, &m->result));
}

int member_train(member *m)
{
    if (member_forward(m))
        return m->status;
    const int status = sbn_backward(m->layer, m->shards, m->saved, SBN_GLOBAL_GRADIENTS,
                                    &m->result);
    clFinish(m->queue);
    return member_says(m, status);
}

static uint64_t digest_statistics(uint64_t digest, const member *m)
{
    float values[6][MEMBER_CHANNELS] = {{0}};
    int64_t batches[2];
    uint64_t count = 0;
    must(sbn_batchnorm_running_stats(m->layer, values[0], values[1], &batches[0]), "get");
    must(sbn_batchnorm_running_stats(m->second, values[2], values[3], &batches[1]), "get");
    sbn_saved_stats(m->saved, values[4], values[5], &count);
    digest = digest_of(digest, values, sizeof values);
    digest = digest_of(digest, batches, sizeof batches);
    return digest_of(digest, &count, sizeof count);
}

static uint64_t digest_gradients(const slice *s)
{
    const uint64_t digest = digest_buffer(DIGEST_START, s, &s->shard.weight_grad, s->channels);
    return digest_buffer(digest, s, &s->shard.bias_grad, s->channels);
}

/* Every replica's gradients and every member's statistics must be the first one's. */
static uint64_t digest_shared(const members *all)
{
    uint64_t statistics = 0, gradients = 0, odd = 0;
    for (int rank = 0; rank < all->count; ++rank) {
        const member *m = &all->of[rank];
        uint64_t own = member_is_here(m) ? digest_statistics(DIGEST_START, m) : 0;
        members_share(rank, &own, sizeof own);
        statistics = statistics ? statistics : own;
        odd += own != statistics;
        for (size_t r = 0; r < m->replicas; ++r) {
            uint64_t digest = member_is_here(m) ? digest_gradients(&m->slices[r]) : 0;
            members_share(rank, &digest, sizeof digest);
            gradients = gradients ? gradients : digest;
            odd += digest != gradients;
        }
    }
    return odd ? odd : statistics ^ gradients;
}

uint64_t members_digest(members *all)
{
    uint64_t digest = digest_shared(all);
    for (int which = 0; which < 2; ++which)
        for (int rank = 0; rank < all->count; ++rank)
            for (size_t r = 0; r < all->of[rank].replicas; ++r) {
                const slice *s = &all->of[rank].slices[r];
                if (member_is_here(&all->of[rank]))
                    digest = digest_buffer(digest, s, which ? &s->shard.y : &s->shard.dx,
                                           s->elements);
                members_share(rank, &digest, sizeof digest);
            }
    return digest;
}

void members_reset(members *all)
{
    for (int rank = 0; rank < all->count; ++rank)
        for (size_t r = 0; member_is_here(&all->of[rank]) && r < all->of[rank].replicas; ++r)
            slice_reset(&all->of[rank].slices[r]);
}

uint64_t members_state(members *all)
{
    uint64_t digest = DIGEST_START;
    for (int rank = 0; rank < all->count; ++rank) {
        const member *m = &all->of[rank];
        if (member_is_here(m))
            digest = digest_statistics(digest, m);
        for (size_t r = 0; member_is_here(m) && r < m->replicas; ++r) {
            const int untouched = slice_untouched(&m->slices[r]);
            digest = digest_of(digest, &untouched, sizeof untouched);
        }
        members_share(rank, &digest, sizeof digest);
    }
    return digest;
}

void member_expect(const member *m, int status, const char *words, const char *what)
{
    tap_ok(m->status == status && holds_words(m->sentence, words),
           "%s: rank %d: expected %s (%s), came %s: %s", what, m->rank, sbn_strerror(status), words,
           sbn_strerror(m->status), m->sentence);
}
