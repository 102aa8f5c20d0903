#include "pass/pipeline.h"

#include "pass/backward.h"
#include "pass/reduce.h"
#include "pass/shard.h"
#include "pass/whole.h"

/*
 * Channels of a chunk: all of them if other ranks would have to wait for this one at every chunk.
 */
static size_t channels_of_chunk(const sbn_pass *pass, int at_once)
{
    const sbn_group *group = pass->group;
    const sbn_layer_pass *lp = pass->layer_passes;
    const size_t all = lp->chunk_channels;
    if (!at_once || lp->next || sbn__layer_pass_has_peers(lp) || group->passes_under_way > 0 ||
        group->replica_count == 0 || !lp->kind->reduce || lp->count < lp->kind->least_count)
        return all;
    if (!lp->kind->fills && !sbn__backward_writes(lp, 0))
        return all; /* step 3 writes no tensor */
    const size_t tensors = lp->kind->needs & SBN_NEEDS_DY || lp->layer->residual ? 2 : 1;
    return sbn__plan_chunk(lp->shapes, group->replicas, tensors);
}

void sbn__pipeline_plan(sbn_pass *pass, int at_once)
{
    sbn_layer_pass *first = pass->layer_passes;
    for (sbn_layer_pass *lp = first; lp; lp = lp->next)
        lp->whole = 0;
    /* Layers of a call may add up gradients in one buffer: their order must not change. */
    if (at_once && !first->next)
        first->whole = sbn__whole_strip(first);
    if (!first->whole)
        first->chunk_channels = channels_of_chunk(pass, at_once);
    pass->chunk_count = (first->layer->channels + first->chunk_channels - 1) /
                        first->chunk_channels;
    for (sbn_layer_pass *lp = first; lp; lp = lp->next)
        for (size_t i = 0; i < SBN_CHUNKS && i < pass->chunk_count; ++i)
            sbn__chunk_set(lp, i);
}

/*
 * Enqueues step 1 of a chunk. Its accumulators stay on the devices if those combine them
 * (src/pass/on_device.h); else it enqueues their transfer to the host (src/pass/sums.h).
 */
static void enqueue(sbn_pass *pass, sbn_layer_pass *lp, size_t number)
{
    sbn_chunk *chunk = sbn__chunk_at(lp, number);
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < pass->group->replica_count && !status; ++r) {
        sbn_replica *replica = &pass->group->replicas[r];
        if (lp->on_device) {
            status = lp->whole ? sbn__whole(lp, chunk, replica, SBN_NARROW, 0)
                               : sbn__reduce_on_device(lp, chunk, replica, pass->format);
            continue;
        }
        status = sbn__reduce(lp, chunk, replica, pass->format);
        if (!status)
            status = sbn__sums_read(lp, chunk, replica, pass->format);
    }
    if (lp->on_device)
        sbn__chunk_step(chunk, pass->group->replica_count);
    sbn__pass_error(pass, lp, status);
}

void sbn__pipeline_start(sbn_pass *pass)
{
    const sbn_sums sums = sbn__pass_sums(pass);
    const size_t words = pass->on_device ? 1 : sbn__sums_lay_out(&sums, &pass->sent);
    const size_t ahead = pass->format == SBN_NARROW ? SBN_CHUNKS : 1;
    if (words > 1)
        sbn__pass_error(pass, pass->layer_passes,
                        sbn__request_reserve(&pass->sums, words, "the words of a pass"));
    for (size_t i = pass->chunk; i < pass->chunk + ahead && i < pass->chunk_count; ++i)
        for (sbn_layer_pass *lp = pass->layer_passes; lp && !pass->error; lp = lp->next)
            if (lp->pending)
                enqueue(pass, lp, i);
}

int sbn__pipeline_arrived(sbn_pass *pass)
{
    int done = 1;
    for (sbn_layer_pass *lp = pass->layer_passes; lp && done && !pass->error; lp = lp->next)
        if (lp->pending)
            sbn__pass_error(pass, lp, sbn__sums_arrived(lp, sbn__chunk_at(lp, pass->chunk), &done));
    return done || pass->error;
}

void sbn__pipeline_wait(const sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__chunk_wait(sbn__chunk_at(lp, pass->chunk), pass->group->replica_count);
}

/* Enqueues step 3 of a chunk that is not the last, on the only replica. */
static int apply(sbn_pass *pass, sbn_layer_pass *lp)
{
    const sbn_chunk *chunk = sbn__chunk_at(lp, pass->chunk);
    sbn_replica *replica = pass->group->replicas;
    if (!lp->on_device)
        lp->kind->write_coefficients(lp, chunk);
    /* The device's statistics are no longer the saved ones. */
    if (lp->kind->fills)
        lp->saved->filled = 0;
    const int status = lp->kind->apply(lp, chunk, replica);
    return status ? status : sbn__flush(replica);
}

int sbn__pipeline_advance(sbn_pass *pass)
{
    sbn_layer_pass *lp = pass->layer_passes;
    const size_t later = pass->chunk + SBN_CHUNKS;
    if (pass->chunk + 1 == pass->chunk_count)
        return 0;
    sbn__pass_error(pass, lp, apply(pass, lp));
    ++pass->chunk;
    pass->format = SBN_NARROW;
    lp->pending = 1;
    if (later < pass->chunk_count && !pass->error) {
        sbn__chunk_set(lp, later);
        enqueue(pass, lp, later);
    }
    return 1;
}
