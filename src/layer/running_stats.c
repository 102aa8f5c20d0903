/* The running statistics of a layer: read, set, and updated by a pass. */
#include <string.h>

#include "layer/batchnorm.h"

static int check_tracking(const sbn_batchnorm *layer)
{
    sbn__error_clear();
    const int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status && !layer->tracks)
        return sbn__fail(SBN_INVALID_ARGUMENT, "layer \"%s\" keeps no running statistics",
                         layer->name);
    return status;
}

int sbn_batchnorm_running_stats(const sbn_batchnorm *layer, float *mean, float *var,
                                int64_t *num_batches_tracked)
{
    int status = check_tracking(layer);
    if (!status)
        status = sbn__running_read(layer->running, layer->group, layer->name);
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
    int status = check_tracking(layer);
    if (status)
        return status;
    if (num_batches_tracked && *num_batches_tracked < 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "num_batches_tracked: expected a count from 0, got %lld",
                         (long long)*num_batches_tracked);
    sbn_running *running = layer->running;
    status = sbn__running_read(running, layer->group, layer->name);
    if (status)
        return status;
    if (mean)
        memcpy(running->mean, mean, sizeof(float) * layer->channels);
    if (var)
        memcpy(running->var, var, sizeof(float) * layer->channels);
    if (num_batches_tracked)
        running->batches = *num_batches_tracked;
    sbn__running_changed(running);
    return SBN_SUCCESS;
}

int sbn_batchnorm_reset_running_stats(sbn_batchnorm *layer)
{
    int status = check_tracking(layer);
    if (!status)
        status = sbn__running_read(layer->running, layer->group, layer->name);
    if (status)
        return status;
    sbn_running *running = layer->running;
    for (size_t c = 0; c < layer->channels; ++c) {
        running->mean[c] = 0.0f;
        running->var[c] = 1.0f;
    }
    running->batches = 0;
    sbn__running_changed(running);
    return SBN_SUCCESS;
}

void sbn__batchnorm_track(sbn_batchnorm *layer, const double *mean, const double *var,
                          uint64_t count)
{
    sbn_running *running = layer->running;
    sbn__running_count(running);
    const double weight = sbn__batchnorm_weight(layer);
    const double unbiased = (double)count / (double)(count - 1);
    for (size_t c = 0; c < layer->channels; ++c) {
        running->mean[c] = (float)((1.0 - weight) * running->mean[c] + weight * mean[c]);
        running->var[c] = (float)((1.0 - weight) * running->var[c] + weight * (var[c] * unbiased));
    }
    sbn__running_changed(running);
}

double sbn__batchnorm_weight(const sbn_batchnorm *layer)
{
    return layer->average == SBN_AVERAGE_CUMULATIVE ? 1.0 / (double)layer->running->batches
                                                    : layer->momentum;
}
