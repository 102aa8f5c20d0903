#include "layer/running.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

sbn_running *sbn__running_create(size_t channels)
{
    sbn_running *running = sbn__allocate(sizeof *running);
    if (!running)
        return NULL;
    running->channels = channels;
    running->mean = sbn__allocate(4 * sizeof(float) * channels);
    if (!running->mean) {
        sbn__running_destroy(running);
        return NULL;
    }
    running->var = running->mean + channels;
    running->given = running->var + channels;
    return running;
}

/* The host's copy, which is up to date, has been changed, or has no other any more. */
static void changed(sbn_running *running)
{
    running->device_is_stale = 1;
    ++running->version;
}

void sbn__running_drop_copy(sbn_running *running)
{
    sbn__release_event(&running->last);
    sbn__release_buffer(&running->device);
    changed(running);
}

void sbn__running_destroy(sbn_running *running)
{
    if (!running)
        return;
    sbn__running_drop_copy(running);
    sbn__free(running->mean);
    sbn__free(running);
}

/* An update that has failed has changed nothing; it is told once. */
static int wait_for_updates(sbn_running *running, const sbn_group *group, const char *layer)
{
    cl_int state = CL_COMPLETE;
    if (!running->last)
        return SBN_SUCCESS;
    clWaitForEvents(1, &running->last);
    const int status = sbn__event_state(group->replicas, running->last, &state);
    sbn__release_event(&running->last);
    /* Until it is read, if it is. */
    running->count_is_stale = 1;
    return status || state >= 0
               ? status
               : sbn__fail(state,
                           "running statistics of layer \"%s\": a forward pass has failed on its "
                           "device: %s; they are those of the last one that has not",
                           layer, sbn_strerror(state));
}

#define WHAT "running statistics"

enum { TO_DEVICE, TO_HOST };

static int move(const sbn_running *running, const sbn_replica *replica, int way, size_t at,
                size_t size, void *host)
{
    const cl_mem mem = running->device.mem;
    return way == TO_HOST
               ? sbn__read_now(replica, replica->transfer_queue, mem, at, size, host, WHAT)
               : sbn__write_now(replica, replica->transfer_queue, mem, at, size, host, WHAT);
}

static int move_count(sbn_running *running, const sbn_replica *replica, int way)
{
    const int status = move(running, replica, way, 2 * sizeof(float) * running->channels,
                            sizeof running->batches, &running->batches);
    if (!status)
        running->count_is_stale = 0;
    return status;
}

/* Both copies' rows and count. */
static int move_all(sbn_running *running, const sbn_replica *replica, int way)
{
    const int status = move(running, replica, way, 0, 2 * sizeof(float) * running->channels,
                            running->mean);
    return status ? status : move_count(running, replica, way);
}

int sbn__running_read(sbn_running *running, const sbn_group *group, const char *layer)
{
    if (!running->host_is_stale)
        return SBN_SUCCESS;
    int status = wait_for_updates(running, group, layer);
    if (!status)
        status = move_all(running, group->replicas, TO_HOST);
    if (!status) {
        running->host_is_stale = 0;
        ++running->version;
    }
    return status;
}

/*
 * An update that has failed has counted nothing, and what waits for it would fail, too. The next pass in the
 * memory of the one that made it may have told it.
 */
static int recount(sbn_running *running, const sbn_replica *replica)
{
    cl_int state = CL_COMPLETE;
    int status = running->last && running->may_fail
                     ? sbn__event_state(replica, running->last, &state)
                     : SBN_SUCCESS;
    if (!status && state < 0) {
        sbn__release_event(&running->last);
        running->count_is_stale = 1;
    }
    if (status || !running->count_is_stale)
        return status;
    if (running->last)
        clWaitForEvents(1, &running->last);
    return move_count(running, replica, TO_HOST);
}

int sbn__running_send(sbn_running *running, sbn_replica *replica)
{
    if (!running->device_is_stale)
        return recount(running, replica);
    /* No update is under way: the host's copy was up to date when it changed. */
    const size_t size = 2 * sizeof(float) * running->channels + sizeof running->batches;
    int status = sbn__reserve_kept(replica, &running->device, size);
    if (!status)
        status = move_all(running, replica, TO_DEVICE);
    running->device_is_stale = status != SBN_SUCCESS;
    return status;
}

int sbn__running_updated(sbn_running *running, const sbn_group *group, cl_event event, int may_fail)
{
    running->host_is_stale = 1;
    running->may_fail = may_fail;
    return sbn__keep_event(group->replicas, &running->last, event);
}

void sbn__running_doubt(sbn_running *running)
{
    if (!running->device_is_stale)
        running->host_is_stale = running->count_is_stale = 1;
}

void sbn__running_count(sbn_running *running)
{
    if (running->batches < INT64_MAX)
        ++running->batches;
}

/* --- of a layer --------------------------------------------------------------------- */

/* Checks that it has some, and a count that is to be set; brings the host's copy up to date. */
static int enter(const sbn_batchnorm *layer, const int64_t *num_batches_tracked)
{
    const int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status && !layer->tracks)
        return sbn__fail(SBN_INVALID_ARGUMENT, "layer \"%s\" keeps no running statistics",
                         layer->name);
    if (!status && num_batches_tracked && *num_batches_tracked < 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "num_batches_tracked: expected a count from 0, got %lld",
                         (long long)*num_batches_tracked);
    return status ? status : sbn__running_read(layer->running, layer->group, layer->name);
}

int sbn_batchnorm_running_stats(const sbn_batchnorm *layer, float *mean, float *var,
                                int64_t *num_batches_tracked)
{
    const int status = enter(layer, NULL);
    if (status)
        return status;
    const sbn_running *running = layer->running;
    if (mean)
        memcpy(mean, running->mean, sizeof(float) * layer->channels);
    if (var)
        memcpy(var, running->var, sizeof(float) * layer->channels);
    if (num_batches_tracked)
        *num_batches_tracked = running->batches;
    return SBN_SUCCESS;
}

int sbn_batchnorm_set_running_stats(sbn_batchnorm *layer, const float *mean, const float *var,
                                    const int64_t *num_batches_tracked)
{
    const int status = enter(layer, num_batches_tracked);
    if (status)
        return status;
    sbn_running *running = layer->running;
    if (mean)
        memcpy(running->mean, mean, sizeof(float) * layer->channels);
    if (var)
        memcpy(running->var, var, sizeof(float) * layer->channels);
    if (num_batches_tracked)
        running->batches = *num_batches_tracked;
    changed(running);
    return SBN_SUCCESS;
}

int sbn_batchnorm_reset_running_stats(sbn_batchnorm *layer)
{
    const int status = enter(layer, NULL);
    if (status)
        return status;
    sbn_running *running = layer->running;
    for (size_t c = 0; c < layer->channels; ++c) {
        running->mean[c] = 0.0f;
        running->var[c] = 1.0f;
    }
    running->batches = 0;
    changed(running);
    return SBN_SUCCESS;
}

void sbn__running_average(float *running, const double *moments, double unbiased, double weight,
                          size_t channels)
{
    for (size_t c = 0; c < channels; ++c)
        running[c] = (float)((1.0 - weight) * running[c] + weight * (moments[c] * unbiased));
}

double sbn__batchnorm_count(sbn_batchnorm *layer)
{
    sbn__running_count(layer->running);
    changed(layer->running);
    return sbn__batchnorm_weight(layer);
}

int sbn__running_take(sbn_batchnorm *layer)
{
    sbn_running *running = layer->running;
    const size_t size = 2 * sizeof(float) * running->channels;
    const int status = sbn__running_read(running, layer->group, layer->name);
    if (status || memcmp(running->mean, running->given, size) == 0)
        return status;
    memcpy(running->mean, running->given, size);
    changed(running);
    return SBN_SUCCESS;
}

double sbn__batchnorm_weight(const sbn_batchnorm *layer)
{
    return layer->config.average == SBN_AVERAGE_CUMULATIVE ? 1.0 / (double)layer->running->batches
                                                           : layer->config.momentum;
}
