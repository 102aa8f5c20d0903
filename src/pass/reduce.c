#include "pass/reduce.h"

#include <string.h>

#include "base/memory.h"

int sbn__grow(void **block, size_t *size, size_t wanted)
{
    if (*block && *size >= wanted)
        return SBN_SUCCESS;
    sbn__free(*block);
    *block = sbn__allocate(wanted);
    *size = *block ? wanted : 0;
    return *block ? SBN_SUCCESS : sbn__fail_memory("the words of a pass");
}

static int prepare_channels(sbn_layer_pass *layer_pass)
{
    const size_t channels = layer_pass->layer->channels;
    if (layer_pass->channels_size >= channels)
        return SBN_SUCCESS;
    layer_pass->channels_size = 0;
    sbn__free(layer_pass->repeat);
    layer_pass->repeat = sbn__allocate(channels);
    int made = layer_pass->repeat != NULL;
    for (int i = 0; i < SBN_COLUMNS; ++i) {
        sbn__free(layer_pass->columns[i]);
        layer_pass->columns[i] = sbn__allocate(sizeof(double) * channels);
        made = made && layer_pass->columns[i];
    }
    if (!made)
        return sbn__fail_memory("the channels of a pass");
    sbn__channel_table_destroy(&layer_pass->gradients);
    const int status = sbn__channel_table_create(&layer_pass->gradients, layer_pass->group,
                                                 SBN_ROWS, channels, 0);
    if (status == SBN_SUCCESS)
        layer_pass->channels_size = channels;
    return status;
}

static void prepare_work(sbn_work *work)
{
    sbn__reduce_wait(work);
    sbn__release_event(&work->read);
}

int sbn__reduce_prepare(sbn_layer_pass *layer_pass)
{
    const size_t replicas = layer_pass->group->replica_count;
    for (size_t r = 0; r < replicas; ++r) {
        for (int i = 0; i < SBN_CHUNKS; ++i)
            prepare_work(&layer_pass->chunks[i].work[r]);
        sbn__release_event(&layer_pass->ready[r]);
        sbn__release_event(&layer_pass->last[r]);
    }
    int status = prepare_channels(layer_pass);
    layer_pass->gradients.channels = layer_pass->layer->channels;
    float *host;
    for (size_t r = 0; r < replicas && !status; ++r)
        status = sbn__channel_table_host(&layer_pass->gradients, r, &host);
    if (!status && layer_pass->kind->fills && replicas > 0)
        status = sbn__channel_table_host(&layer_pass->saved->table, 0, &host);
    return status;
}

static int reserve(const sbn_chunk *chunk, sbn_replica *replica, const sbn_format *format,
                   size_t slices)
{
    sbn_work *work = &chunk->work[replica->index];
    const size_t bytes = sizeof(int64_t) * sbn__format_words(format) * chunk->channels;
    int status = sbn__staging_reserve(replica, &work->host, bytes);
    if (!status && slices > 0)
        status = sbn__reserve(replica, &work->words, bytes);
    if (!status && slices > 1)
        status = sbn__reserve(replica, &work->partial, bytes * slices);
    return status;
}

int sbn__reduce_launch(const sbn_chunk *chunk, sbn_replica *replica, sbn_kernel *kernel,
                       sbn_argument *arguments, size_t count, const sbn_slices *slices,
                       const sbn_wait *wait, cl_event *event)
{
    const sbn_geometry *g = &chunk->geometries[replica->index];
    const sbn_work *work = &chunk->work[replica->index];
    const cl_uint samples = (cl_uint)g->samples, channels = (cl_uint)g->channels;
    const cl_uint first = (cl_uint)g->first, total = (cl_uint)g->total, plane = (cl_uint)g->plane;
    const cl_mem out = slices->count > 1 ? work->partial.mem : work->words.mem;
    const int whole = g->layout == SBN_LAYOUT_NHWC; /* those kernels know no chunks */
    const sbn_argument walk[SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(first),
        SBN_ARG(total),
        SBN_ARG(samples),
        SBN_ARG(channels),
        SBN_ARG(plane),
        SBN_ARG(g->blocks),
        SBN_ARG(slices->strip),
        SBN_ARG(slices->per_slice),
        SBN_ARG(g->last_reciprocal),
        SBN_ARG(out),
    };
    for (size_t i = whole ? 2 : 0; i < SBN_SLICE_ARGUMENTS; ++i)
        arguments[count++] = walk[i];
    return sbn__launch(replica, kernel, arguments, count, 2, slices->groups, wait, event);
}

/* partial -> words. A single slice has written the words already. */
static int fold(const sbn_chunk *chunk, sbn_replica *replica, const sbn_format *format,
                cl_uint slices, const sbn_wait *wait, cl_event *event)
{
    const sbn_work *work = &chunk->work[replica->index];
    const sbn_argument arguments[] = {SBN_ARG(work->partial.mem), SBN_ARG(slices),
                                      SBN_ARG(work->words.mem)};
    const size_t items[] = {sbn__format_words(format), chunk->channels};
    return sbn__launch(replica, &replica->kernels.fold, arguments, 3, 2, items, wait, event);
}

static void move_event(cl_event *slot, cl_event *event)
{
    sbn__release_event(slot);
    *slot = *event;
    *event = NULL;
}

static int enqueue_replica(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica,
                           int format)
{
    sbn_work *work = &chunk->work[replica->index];
    const sbn_format *shape = layer_pass->kind->format(format);
    const sbn_geometry *geometry = &chunk->geometries[replica->index];
    sbn_slices slices = {{0, 0}, 0, 0, 0};
    if (geometry->values > 0)
        slices = sbn__slices_of(geometry, replica, sbn__format_words(shape));
    int status = reserve(chunk, replica, shape, slices.count);
    if (status || slices.count == 0)
        return status;

    sbn_wait wait = {{NULL}, 0};
    cl_event reduced = NULL, folded = NULL;
    sbn__wait_add(&wait, layer_pass->ready[replica->index]);
    /* Of the narrow format, or of the chunk before: it uses the same memory. */
    sbn__wait_add(&wait, work->read);
    status = layer_pass->kind->reduce(layer_pass, chunk, replica, format, &slices, &wait, &reduced);
    sbn_wait done = {{NULL}, 0};
    if (!status && slices.count > 1) {
        sbn__wait_add(&done, reduced);
        status = fold(chunk, replica, shape, slices.count, &done, &folded);
        done.count = 0;
    }
    if (!status) {
        cl_event read = NULL;
        sbn__wait_add(&done, folded ? folded : reduced);
        status = sbn__read(replica, work->words.mem,
                           sizeof(int64_t) * sbn__format_words(shape) * chunk->channels,
                           work->host.at, &done, &read);
        if (!status)
            move_event(&work->read, &read);
    }
    /* Not read: the memory is still free only after what was enqueued. */
    if (status && reduced)
        move_event(&work->read, folded ? &folded : &reduced);
    sbn__release_event(&reduced);
    sbn__release_event(&folded);
    return status ? status : sbn__flush(replica);
}

int sbn__reduce_chunk(sbn_layer_pass *layer_pass, sbn_chunk *chunk, int format)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < layer_pass->group->replica_count && !status; ++r)
        status = enqueue_replica(layer_pass, chunk, &layer_pass->group->replicas[r], format);
    return status;
}

int sbn__reduce_must_add(const sbn_layer_pass *layer_pass)
{
    return sbn__layer_pass_is_joined(layer_pass) || layer_pass->group->replica_count > 1;
}

/* Says where the pending layer passes' sums stand; returns the words in all. */
static size_t lay_out(sbn_pass *pass)
{
    size_t used = 1;
    for (int joined = 1; joined >= 0; --joined) {
        for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
             layer_pass = layer_pass->next) {
            if (!layer_pass->pending || !sbn__reduce_must_add(layer_pass) ||
                sbn__layer_pass_is_joined(layer_pass) != joined)
                continue;
            layer_pass->at = used;
            used += 1 + sbn__format_words(layer_pass->kind->format(pass->format)) *
                            layer_pass->layer->channels;
        }
        if (joined)
            pass->sent = used;
    }
    return used;
}

void sbn__reduce_enqueue(sbn_pass *pass)
{
    const size_t words = lay_out(pass);
    if (words > 1)
        sbn__pass_error(pass, pass->layer_passes,
                        sbn__grow((void **)&pass->sums, &pass->sums_size, sizeof(int64_t) * words));
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass && !pass->error;
         layer_pass = layer_pass->next)
        if (layer_pass->pending)
            sbn__pass_error(pass, layer_pass,
                            sbn__reduce_chunk(layer_pass, &layer_pass->chunks[0], pass->format));
}

static int is_done(sbn_pass *pass, const sbn_layer_pass *layer_pass)
{
    int done = 1;
    for (size_t r = 0; r < layer_pass->group->replica_count && done; ++r) {
        const cl_event read = layer_pass->chunks[0].work[r].read;
        if (read)
            sbn__pass_error(pass, layer_pass,
                            sbn__event_done(&layer_pass->group->replicas[r], read, &done));
    }
    return done;
}

int sbn__reduce_done(sbn_pass *pass)
{
    int done = 1;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass && done && !pass->error;
         layer_pass = layer_pass->next)
        if (layer_pass->pending)
            done = is_done(pass, layer_pass);
    return done;
}

void sbn__reduce_wait(const sbn_work *work)
{
    if (work->read)
        clWaitForEvents(1, &work->read);
}

sbn_accumulators sbn__reduce_words(const sbn_chunk *chunk, size_t replica, const sbn_format *format)
{
    return sbn__accumulators_at(chunk->work[replica].host.at, format);
}

void sbn__reduce_add(sbn_pass *pass)
{
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        if (!layer_pass->pending || !sbn__reduce_must_add(layer_pass))
            continue;
        const size_t channels = layer_pass->layer->channels;
        const sbn_format *format = layer_pass->kind->format(pass->format);
        const sbn_chunk *whole = &layer_pass->chunks[0];
        int64_t *sums = pass->sums + layer_pass->at;
        *sums++ = (int64_t)layer_pass->own;
        memset(sums, 0, sizeof *sums * sbn__format_words(format) * channels);
        for (size_t r = 0; r < layer_pass->group->replica_count; ++r)
            if (whole->geometries[r].values > 0)
                sbn__accumulators_add(whole->work[r].host.at, format, channels, sums);
    }
}

void sbn__reduce_seal(sbn_pass *pass)
{
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass; layer_pass = layer_pass->next)
        if (layer_pass->pending && sbn__layer_pass_is_joined(layer_pass))
            sbn__accumulators_seal(pass->sums + layer_pass->at + 1,
                                   layer_pass->kind->format(pass->format),
                                   layer_pass->layer->channels);
}

void sbn__reduce_open(sbn_pass *pass)
{
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        if (!layer_pass->pending || !sbn__layer_pass_is_joined(layer_pass))
            continue;
        layer_pass->count = (uint64_t)pass->sums[layer_pass->at];
        sbn__accumulators_open(pass->sums + layer_pass->at + 1,
                               layer_pass->kind->format(pass->format), layer_pass->layer->channels);
    }
}

sbn_accumulators sbn__reduce_sum(const sbn_pass *pass, const sbn_layer_pass *layer_pass)
{
    const sbn_format *format = layer_pass->kind->format(pass->format);
    return sbn__reduce_must_add(layer_pass)
               ? sbn__accumulators_at(pass->sums + layer_pass->at + 1, format)
               : sbn__reduce_words(&layer_pass->chunks[0], 0, format);
}
