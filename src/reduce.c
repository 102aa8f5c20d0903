#include "reduce.h"

#include <string.h>

#include "handles.h"

int sbn_grow(void **block, size_t *size, size_t wanted)
{
    if (*block && *size >= wanted)
        return SBN_SUCCESS;
    sbn_free(*block);
    *block = sbn_allocate(wanted);
    *size = *block ? wanted : 0;
    return *block ? SBN_SUCCESS : sbn_fail_memory("the words of a pass");
}

static int prepare_channels(sbn_part *part)
{
    const size_t channels = part->layer->channels;
    if (part->channels_size >= channels)
        return SBN_SUCCESS;
    part->channels_size = 0;
    sbn_free(part->repeat);
    part->repeat = sbn_allocate(channels);
    int made = part->repeat != NULL;
    for (int i = 0; i < SBN_COLUMNS; ++i) {
        sbn_free(part->columns[i]);
        part->columns[i] = sbn_allocate(sizeof(double) * channels);
        made = made && part->columns[i];
    }
    if (!made)
        return sbn_fail_memory("the channels of a pass");
    sbn_table_destroy(&part->gradients);
    const int status = sbn_table_create(&part->gradients, part->group, SBN_ROWS, channels, 0);
    if (status == SBN_SUCCESS)
        part->channels_size = channels;
    return status;
}

static void prepare_work(sbn_work *work)
{
    sbn_reduce_wait(work);
    sbn_release_event(&work->read);
}

int sbn_reduce_prepare(sbn_part *part)
{
    const size_t replicas = part->group->replica_count;
    for (size_t r = 0; r < replicas; ++r) {
        for (int i = 0; i < SBN_PIECES; ++i)
            prepare_work(&part->pieces[i].work[r]);
        sbn_release_event(&part->ready[r]);
        sbn_release_event(&part->last[r]);
    }
    int status = prepare_channels(part);
    part->gradients.channels = part->layer->channels;
    float *host;
    for (size_t r = 0; r < replicas && !status; ++r)
        status = sbn_table_host(&part->gradients, r, &host);
    if (!status && part->kind->fills && replicas > 0)
        status = sbn_table_host(&part->saved->table, 0, &host);
    return status;
}

static int reserve(const sbn_piece *piece, sbn_replica *replica, const sbn_window *window,
                   size_t slices)
{
    sbn_work *work = &piece->work[replica->index];
    const size_t bytes = sizeof(int64_t) * sbn_window_words(window) * piece->channels;
    int status = sbn_staging_reserve(replica, &work->host, bytes);
    if (!status && slices > 0)
        status = sbn_reserve(replica, &work->words, bytes);
    if (!status && slices > 1)
        status = sbn_reserve(replica, &work->partial, bytes * slices);
    return status;
}

int sbn_reduce_launch(const sbn_piece *piece, sbn_replica *replica, sbn_kernel *kernel,
                      sbn_argument *arguments, size_t count, const sbn_slices *slices,
                      const sbn_wait *wait, cl_event *event)
{
    const sbn_geometry *g = &piece->geometries[replica->index];
    const sbn_work *work = &piece->work[replica->index];
    const cl_uint samples = (cl_uint)g->samples, channels = (cl_uint)g->channels;
    const cl_uint first = (cl_uint)g->first, total = (cl_uint)g->total, plane = (cl_uint)g->plane;
    const cl_mem out = slices->count > 1 ? work->partial.mem : work->words.mem;
    const int whole = g->layout == SBN_CHANNELS_LAST; /* those kernels know no pieces */
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
    return sbn_launch(replica, kernel, arguments, count, 2, slices->groups, wait, event);
}

/* partial -> words. A single slice has written the words already. */
static int fold(const sbn_piece *piece, sbn_replica *replica, const sbn_window *window,
                cl_uint slices, const sbn_wait *wait, cl_event *event)
{
    const sbn_work *work = &piece->work[replica->index];
    const sbn_argument arguments[] = {SBN_ARG(work->partial.mem), SBN_ARG(slices),
                                      SBN_ARG(work->words.mem)};
    const size_t items[] = {sbn_window_words(window), piece->channels};
    return sbn_launch(replica, &replica->kernels.fold, arguments, 3, 2, items, wait, event);
}

static int enqueue_replica(sbn_part *part, sbn_piece *piece, sbn_replica *replica, int window)
{
    sbn_work *work = &piece->work[replica->index];
    const sbn_window *shape = part->kind->window(window);
    const sbn_geometry *geometry = &piece->geometries[replica->index];
    sbn_slices slices = {{0, 0}, 0, 0, 0};
    if (geometry->values > 0)
        slices = sbn_slices_of(geometry, replica, sbn_window_words(shape));
    int status = reserve(piece, replica, shape, slices.count);
    if (status || slices.count == 0)
        return status;

    sbn_wait wait = {{NULL}, 0};
    cl_event reduced = NULL, folded = NULL;
    sbn_wait_add(&wait, part->ready[replica->index]);
    /* Of the narrow window, or of the piece before: it uses the same memory. */
    sbn_wait_add(&wait, work->read);
    status = part->kind->reduce(part, piece, replica, window, &slices, &wait, &reduced);
    sbn_wait done = {{NULL}, 0};
    if (!status && slices.count > 1) {
        sbn_wait_add(&done, reduced);
        status = fold(piece, replica, shape, slices.count, &done, &folded);
        done.count = 0;
    }
    if (!status) {
        cl_event read = NULL;
        sbn_wait_add(&done, folded ? folded : reduced);
        status = sbn_read(replica, work->words.mem,
                          sizeof(int64_t) * sbn_window_words(shape) * piece->channels,
                          work->host.at, &done, &read);
        if (!status) {
            sbn_keep_event(&work->read, read);
            sbn_release_event(&read);
        }
    }
    /* Not read: the memory is still free only after what was enqueued. */
    if (status && reduced)
        sbn_keep_event(&work->read, folded ? folded : reduced);
    sbn_release_event(&reduced);
    sbn_release_event(&folded);
    return status ? status : sbn_flush(replica);
}

int sbn_reduce_piece(sbn_part *part, sbn_piece *piece, int window)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < part->group->replica_count && !status; ++r)
        status = enqueue_replica(part, piece, &part->group->replicas[r], window);
    return status;
}

int sbn_reduce_must_add(const sbn_part *part)
{
    return sbn_part_is_joined(part) || part->group->replica_count > 1;
}

/* Says where the pending parts' sums stand; returns the words in all. */
static size_t lay_out(sbn_pass *pass)
{
    size_t used = 1;
    for (int joined = 1; joined >= 0; --joined) {
        for (sbn_part *part = pass->parts; part; part = part->next) {
            if (!part->pending || !sbn_reduce_must_add(part) || sbn_part_is_joined(part) != joined)
                continue;
            part->at = used;
            used += 1 + sbn_window_words(part->kind->window(pass->window)) * part->layer->channels;
        }
        if (joined)
            pass->sent = used;
    }
    return used;
}

void sbn_reduce_enqueue(sbn_pass *pass)
{
    const size_t words = lay_out(pass);
    if (words > 1)
        sbn_pass_error(pass, pass->parts,
                       sbn_grow((void **)&pass->sums, &pass->sums_size, sizeof(int64_t) * words));
    for (sbn_part *part = pass->parts; part && !pass->error; part = part->next)
        if (part->pending)
            sbn_pass_error(pass, part, sbn_reduce_piece(part, &part->pieces[0], pass->window));
}

static int is_done(sbn_pass *pass, const sbn_part *part)
{
    int done = 1;
    for (size_t r = 0; r < part->group->replica_count && done; ++r) {
        const cl_event read = part->pieces[0].work[r].read;
        if (read)
            sbn_pass_error(pass, part, sbn_event_done(&part->group->replicas[r], read, &done));
    }
    return done;
}

int sbn_reduce_done(sbn_pass *pass)
{
    int done = 1;
    for (const sbn_part *part = pass->parts; part && done && !pass->error; part = part->next)
        if (part->pending)
            done = is_done(pass, part);
    return done;
}

void sbn_reduce_wait(const sbn_work *work)
{
    if (work->read)
        clWaitForEvents(1, &work->read);
}

sbn_words sbn_reduce_words(const sbn_piece *piece, size_t replica, const sbn_window *window)
{
    return sbn_words_at(piece->work[replica].host.at, window);
}

void sbn_reduce_add(sbn_pass *pass)
{
    for (sbn_part *part = pass->parts; part; part = part->next) {
        if (!part->pending || !sbn_reduce_must_add(part))
            continue;
        const size_t channels = part->layer->channels;
        const sbn_window *window = part->kind->window(pass->window);
        const sbn_piece *whole = &part->pieces[0];
        int64_t *sums = pass->sums + part->at;
        *sums++ = (int64_t)part->own;
        memset(sums, 0, sizeof *sums * sbn_window_words(window) * channels);
        for (size_t r = 0; r < part->group->replica_count; ++r)
            if (whole->geometries[r].values > 0)
                sbn_words_add(whole->work[r].host.at, window, channels, sums);
    }
}

void sbn_reduce_seal(sbn_pass *pass)
{
    for (sbn_part *part = pass->parts; part; part = part->next)
        if (part->pending && sbn_part_is_joined(part))
            sbn_words_seal(pass->sums + part->at + 1, part->kind->window(pass->window),
                           part->layer->channels);
}

void sbn_reduce_open(sbn_pass *pass)
{
    for (sbn_part *part = pass->parts; part; part = part->next) {
        if (!part->pending || !sbn_part_is_joined(part))
            continue;
        part->count = (uint64_t)pass->sums[part->at];
        sbn_words_open(pass->sums + part->at + 1, part->kind->window(pass->window),
                       part->layer->channels);
    }
}

sbn_words sbn_reduce_sum(const sbn_pass *pass, const sbn_part *part)
{
    const sbn_window *window = part->kind->window(pass->window);
    return sbn_reduce_must_add(part) ? sbn_words_at(pass->sums + part->at + 1, window)
                                     : sbn_reduce_words(&part->pieces[0], 0, window);
}
