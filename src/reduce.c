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

static int prepare_channels(sbn_pass *pass)
{
    const size_t channels = pass->layer->channels;
    if (pass->channels_size >= channels)
        return SBN_SUCCESS;
    pass->channels_size = 0;
    sbn_free(pass->repeat);
    pass->repeat = sbn_allocate(channels);
    int made = pass->repeat != NULL;
    for (int i = 0; i < SBN_COLUMNS; ++i) {
        sbn_free(pass->columns[i]);
        pass->columns[i] = sbn_allocate(sizeof(double) * channels);
        made = made && pass->columns[i];
    }
    if (!made)
        return sbn_fail_memory("the channels of a pass");
    sbn_table_destroy(&pass->gradients);
    const int status = sbn_table_create(&pass->gradients, pass->group, 5 * channels, 0);
    if (status == SBN_SUCCESS)
        pass->channels_size = channels;
    return status;
}

int sbn_reduce_prepare(sbn_pass *pass)
{
    sbn_reduce_wait(pass);
    int status = prepare_channels(pass);
    if (!status)
        memset(pass->repeat, 0, pass->channels_size);
    for (size_t r = 0; r < pass->group->replica_count && !status; ++r) {
        sbn_release_event(&pass->work[r].ready);
        sbn_release_event(&pass->work[r].read);
        float *host;
        status = sbn_table_host(&pass->gradients, r, &host);
    }
    return status;
}

static int reserve(sbn_pass *pass, sbn_replica *replica, const sbn_window *window, size_t slices)
{
    sbn_work *work = &pass->work[replica->index];
    const size_t channels = pass->layer->channels;
    const size_t bytes = sizeof(int64_t) * sbn_window_words(window) * channels;
    int status = sbn_staging_reserve(replica, &work->host, bytes);
    if (!status && slices > 0)
        status = sbn_reserve(replica, &work->words, bytes);
    if (!status && slices > 1)
        status = sbn_reserve(replica, &work->partial, bytes * slices);
    return status;
}

int sbn_reduce_launch(sbn_pass *pass, sbn_replica *replica, sbn_kernel *kernel,
                      sbn_argument *arguments, size_t count, const sbn_slices *slices,
                      const sbn_wait *wait, cl_event *event)
{
    const sbn_geometry *g = &pass->geometries[replica->index];
    const sbn_work *work = &pass->work[replica->index];
    const cl_uint samples = (cl_uint)g->samples, channels = (cl_uint)g->channels;
    const cl_uint plane = (cl_uint)g->plane;
    const cl_mem out = slices->count > 1 ? work->partial.mem : work->words.mem;
    const sbn_argument walk[SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(samples),
        SBN_ARG(channels),
        SBN_ARG(plane),
        SBN_ARG(g->blocks),
        SBN_ARG(slices->strip),
        SBN_ARG(slices->per_slice),
        SBN_ARG(g->last_reciprocal),
        SBN_ARG(out),
    };
    for (size_t i = 0; i < SBN_SLICE_ARGUMENTS; ++i)
        arguments[count + i] = walk[i];
    return sbn_launch(replica, kernel, arguments, count + SBN_SLICE_ARGUMENTS, 2, slices->groups,
                      wait, event);
}

/* partial -> words. A single slice has written the words already. */
static int fold(sbn_pass *pass, sbn_replica *replica, const sbn_window *window, cl_uint slices,
                const sbn_wait *wait, cl_event *event)
{
    sbn_work *work = &pass->work[replica->index];
    const sbn_argument arguments[] = {SBN_ARG(work->partial.mem), SBN_ARG(slices),
                                      SBN_ARG(work->words.mem)};
    const size_t items[] = {sbn_window_words(window), pass->layer->channels};
    return sbn_launch(replica, &replica->kernels.fold, arguments, 3, 2, items, wait, event);
}

static int enqueue_replica(sbn_pass *pass, sbn_replica *replica, int window)
{
    sbn_work *work = &pass->work[replica->index];
    const sbn_window *shape = pass->kind->window(window);
    const sbn_geometry *geometry = &pass->geometries[replica->index];
    sbn_slices slices = {{0, 0}, 0, 0, 0};
    if (geometry->values > 0)
        slices = sbn_slices_of(geometry, replica, sbn_window_words(shape));
    int status = reserve(pass, replica, shape, slices.count);
    if (status || slices.count == 0)
        return status;

    sbn_wait wait = {{NULL}, 0};
    cl_event reduced = NULL, folded = NULL;
    sbn_wait_add(&wait, work->ready);
    sbn_wait_add(&wait, work->read); /* a wide pass uses the narrow one's memory */
    status = pass->kind->reduce(pass, replica, window, &slices, &wait, &reduced);
    sbn_wait done = {{NULL}, 0};
    if (!status && slices.count > 1) {
        sbn_wait_add(&done, reduced);
        status = fold(pass, replica, shape, slices.count, &done, &folded);
        done.count = 0;
    }
    if (!status) {
        cl_event read = NULL;
        sbn_wait_add(&done, folded ? folded : reduced);
        status = sbn_read(replica, work->words.mem,
                          sizeof(int64_t) * sbn_window_words(shape) * pass->layer->channels,
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

int sbn_reduce_enqueue(sbn_pass *pass, int window)
{
    const size_t words = 1 + sbn_window_words(pass->kind->window(window)) * pass->layer->channels;
    int status = SBN_SUCCESS;
    if (sbn_reduce_must_add(pass))
        status = sbn_grow((void **)&pass->sums, &pass->sums_size, sizeof(int64_t) * words);
    for (size_t r = 0; r < pass->group->replica_count && !status; ++r)
        status = enqueue_replica(pass, &pass->group->replicas[r], window);
    return status;
}

int sbn_reduce_done(sbn_pass *pass, int *done)
{
    *done = 1;
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < pass->group->replica_count && !status && *done; ++r)
        if (pass->work[r].read)
            status = sbn_event_done(&pass->group->replicas[r], pass->work[r].read, done);
    return status;
}

void sbn_reduce_wait(const sbn_pass *pass)
{
    for (size_t r = 0; r < pass->group->replica_count; ++r)
        if (pass->work[r].read)
            clWaitForEvents(1, &pass->work[r].read);
}

sbn_words sbn_reduce_words(const sbn_pass *pass, size_t replica)
{
    return sbn_words_at(pass->work[replica].host.at, pass->kind->window(pass->window));
}

int sbn_reduce_must_add(const sbn_pass *pass)
{
    return sbn_pass_is_joined(pass) || pass->group->replica_count > 1;
}

void sbn_reduce_add(sbn_pass *pass)
{
    const size_t channels = pass->layer->channels;
    const sbn_window *window = pass->kind->window(pass->window);
    const size_t words = sbn_window_words(window);
    memset(pass->sums, 0, sizeof(int64_t) * (1 + words * channels));
    for (size_t r = 0; r < pass->group->replica_count; ++r)
        if (pass->geometries[r].values > 0)
            sbn_words_add(pass->work[r].host.at, window, channels, pass->sums + 1);
}
