#include "pass/chunks.h"

#include "pass/reduce.h"
#include "pass/shard.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t sbn__chunks_channels(const sbn_pass *pass)
{
    const sbn_group *group = pass->group;
    const sbn_layer_pass *layer_pass = pass->layer_passes;
    if (layer_pass->next || sbn__layer_pass_is_joined(layer_pass) || group->replica_count != 1 ||
        group->under_way_count > 0 || !layer_pass->kind->reduce ||
        layer_pass->count < layer_pass->kind->least_count)
        return 0;
    if (!layer_pass->kind->fills && !layer_pass->shards->dx.mem)
        return 0; /* step 3 writes no tensor */
    const size_t tensors = layer_pass->kind->needs & SBN_NEEDS_DY ? 2 : 1;
    const size_t channels = sbn__plan_chunk(layer_pass->geometries, group->replicas, tensors);
    return channels < layer_pass->layer->channels ? channels : 0;
}

/* Waits for a chunk's words and takes them. */
static int take(sbn_layer_pass *layer_pass, sbn_chunk *chunk, int format, int *again)
{
    int done;
    sbn__chunk_wait(layer_pass, chunk);
    const int status = sbn__event_done(layer_pass->group->replicas, chunk->work->read, &done);
    if (status)
        return status;
    const sbn_accumulators words = sbn__reduce_words(chunk, 0, layer_pass->kind->format(format));
    *again = layer_pass->kind->take(layer_pass, chunk, &words);
    return SBN_SUCCESS;
}

/* Steps 2 and 3 of a chunk whose reduction is enqueued. */
static int complete(sbn_layer_pass *layer_pass, sbn_chunk *chunk)
{
    sbn_replica *replica = layer_pass->group->replicas;
    int again = 0;
    int status = take(layer_pass, chunk, SBN_NARROW, &again);
    if (!status && again) {
        layer_pass->result.wide = 1;
        status = sbn__reduce_chunk(layer_pass, chunk, SBN_WIDE);
        if (!status)
            status = take(layer_pass, chunk, SBN_WIDE, &again);
    }
    if (status)
        return status;
    layer_pass->kind->fill(layer_pass, chunk);
    /* Its statistics on the device are no longer those that it was filled with. */
    if (layer_pass->kind->fills)
        layer_pass->saved->filled = 0;
    status = layer_pass->kind->apply(layer_pass, chunk, replica);
    return status ? status : sbn__flush(replica);
}

/* Reduces channels from `first` on; step 3 of the chunk fetches those of the chunk after the next. */
static int start(sbn_layer_pass *layer_pass, sbn_chunk *chunk, size_t first, size_t channels)
{
    const size_t all = layer_pass->layer->channels, ahead = SBN_CHUNKS * channels;
    const size_t beyond = first + ahead < all ? all - first - ahead : 0;
    sbn__chunk_set(layer_pass, chunk, first, smaller(channels, all - first));
    chunk->geometries->ahead = ahead;
    chunk->geometries->ahead_channels = smaller(channels, beyond);
    return sbn__reduce_chunk(layer_pass, chunk, SBN_NARROW);
}

int sbn__chunks_run(sbn_pass *pass, size_t channels)
{
    sbn_layer_pass *layer_pass = pass->layer_passes;
    const size_t all = layer_pass->layer->channels;
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < SBN_CHUNKS && !status; ++i)
        status = start(layer_pass, &layer_pass->chunks[i], i * channels, channels);
    for (size_t first = 0, i = 0; first < all && !status; first += channels, i = !i) {
        const size_t next = first + SBN_CHUNKS * channels;
        status = complete(layer_pass, &layer_pass->chunks[i]);
        if (!status && next < all)
            status = start(layer_pass, &layer_pass->chunks[i], next, channels);
    }
    sbn__pass_error(pass, layer_pass, status);
    if (!status && layer_pass->kind->commit)
        layer_pass->kind->commit(layer_pass);
    pass->applied = 1;
    pass->stage = SBN_STAGE_SETTLED;
    pass->status = status;
    return status;
}
