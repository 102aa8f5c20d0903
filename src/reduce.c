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

int64_t *sbn_channel_words(int64_t *wire, const sbn_window *window, size_t c)
{
    return wire + c * sbn_wire_words(window);
}

static int prepare_channels(sbn_pass *pass)
{
    const size_t channels = pass->layer->channels;
    if (pass->channels_size >= channels)
        return SBN_SUCCESS;
    pass->channels_size = 0;
    sbn_free(pass->mean);
    sbn_free(pass->var);
    sbn_free(pass->repeat);
    pass->mean = sbn_allocate(sizeof(double) * channels);
    pass->var = sbn_allocate(sizeof(double) * channels);
    pass->repeat = sbn_allocate(channels);
    if (!pass->mean || !pass->var || !pass->repeat)
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
    int status = sbn_grow((void **)&work->host, &work->host_size, bytes);
    if (!status)
        status = sbn_grow((void **)&work->wire, &work->wire_size,
                          sizeof(int64_t) * sbn_wire_words(window) * channels);
    if (!status && slices > 0)
        status = sbn_reserve(replica, &work->words, bytes);
    if (!status && slices > 1)
        status = sbn_reserve(replica, &work->partial, bytes * slices);
    return status;
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
    sbn_slices slices = {{0, 0}, 0, 0};
    if (geometry->values > 0)
        slices = sbn_slices_of(geometry, replica,
                               pass->kind->kernel(replica, geometry->layout, window));
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
                          work->host, &done, &read);
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
    const size_t words = 1 + sbn_wire_words(pass->kind->window(window)) * pass->layer->channels;
    int status = sbn_grow((void **)&pass->sums, &pass->sums_size, sizeof(int64_t) * words);
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

void sbn_reduce_add(sbn_pass *pass)
{
    const sbn_window *window = pass->kind->window(pass->window);
    const size_t channels = pass->layer->channels, per_channel = sbn_window_words(window);
    const size_t wire_words = sbn_wire_words(window);
    pass->wire = pass->sums + 1;
    memset(pass->sums, 0, sizeof(int64_t) * (1 + wire_words * channels));
    for (size_t r = 0; r < pass->group->replica_count; ++r) {
        const sbn_work *work = &pass->work[r];
        memset(work->wire, 0, sizeof(int64_t) * wire_words * channels);
        if (pass->geometries[r].values == 0)
            continue;
        for (size_t c = 0; c < channels; ++c) {
            int64_t *own = sbn_channel_words(work->wire, window, c);
            int64_t *all = sbn_channel_words(pass->wire, window, c);
            sbn_add_words(work->host + c * per_channel, window, own);
            for (size_t k = 0; k + 1 < wire_words; ++k)
                all[k] += own[k];
            all[wire_words - 1] |= own[wire_words - 1];
        }
    }
}
