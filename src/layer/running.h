/*
 * A layer's running statistics: on the host, and where devices combine also on the first replica's
 * device, which updates them there. Either copy may be out of date, never both; reading brings the
 * host's up to date and waits for that.
 */
#ifndef SBN_LAYER_RUNNING_H
#define SBN_LAYER_RUNNING_H

#include <stdint.h>

#include "device/commands.h"
#include "layer/batchnorm.h"

struct sbn_running {
    float *mean, *var;
    int64_t batches;
    size_t channels;
    int host_is_stale, device_is_stale;
    sbn_device_buffer device; /* both rows, then the count of batches */
    cl_event last;            /* the last command that updates it */
    unsigned version;         /* how often the host's copy has changed */
};

/* Makes those of `channels` channels, which are not yet set; returns NULL without memory. */
sbn_running *sbn__running_create(size_t channels);
void sbn__running_destroy(sbn_running *running);

/* Waits for the device's updates and brings the host's copy up to date. `layer` is its name. */
int sbn__running_read(sbn_running *running, const sbn_group *group, const char *layer);

/* Brings the device's copy up to date: blocks only where the host's has changed. */
int sbn__running_send(sbn_running *running, const sbn_group *group, const char *layer);

/* A command that updates the device's copy has been enqueued. */
int sbn__running_updated(sbn_running *running, const sbn_group *group, cl_event event);

/* Drops the device's copy, when the host's is up to date: the layer leaves the group. */
void sbn__running_drop_copy(sbn_running *running);

/* Counts a batch. */
void sbn__running_count(sbn_running *running);

/* Updates the running statistics, whose host copy is up to date, by the moments of a batch. */
void sbn__batchnorm_track(sbn_batchnorm *layer, const double *mean, const double *var,
                          uint64_t count);

/* The weight of the batch that has been counted last. */
double sbn__batchnorm_weight(const sbn_batchnorm *layer);

#endif
