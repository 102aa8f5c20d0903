/*
 * A layer's running statistics: on the host, and where devices combine also on the first replica's
 * device, which updates them there. Either copy may be out of date, never both; reading brings the
 * host's up to date and waits for that.
 */
#pragma once

#include <stdint.h>

#include "device/commands.h"
#include "layer/batchnorm.h"

struct sbn_running {
    float *mean, *var, *given; /* in one block: `given` is room for both of the caller's */
    int64_t batches;
    size_t channels;
    int host_is_stale, device_is_stale;
    int count_is_stale;       /* the host's: the device may have counted more batches, or fewer */
    sbn_device_buffer device; /* both rows, then the count of batches */
    cl_event last;            /* the last command that updates it */
    int may_fail;             /* ... as sbn__layer_pass_may_fail of its pass */
    unsigned version;         /* how often the host's copy has changed, or lost the device's */
};

/* Makes those of `channels` channels, which are not yet set; returns NULL without memory. */
sbn_running *sbn__running_create(size_t channels);
void sbn__running_destroy(sbn_running *running);

/* Waits for the device's updates and brings the host's copy up to date. `layer` is its name. */
int sbn__running_read(sbn_running *running, const sbn_group *group, const char *layer);

/*
 * Brings the device's copy up to date, and the host's count where an update has failed: blocks only for
 * one of these. What an update waits for afterwards has not failed.
 */
int sbn__running_send(sbn_running *running, sbn_replica *replica);

/* A command that updates the device's copy has been enqueued; `may_fail` as above. */
int sbn__running_updated(sbn_running *running, const sbn_group *group, cl_event event,
                         int may_fail);

/* An error: the device's copy may have been updated since, or not. */
void sbn__running_doubt(sbn_running *running);

/* Drops the device's copy, when the host's is up to date: the layer leaves the group. */
void sbn__running_drop_copy(sbn_running *running);

/* Counts a batch. */
void sbn__running_count(sbn_running *running);

/* Counts a batch where the host combines, whose copy is up to date; returns the batch's weight. */
double sbn__batchnorm_count(sbn_batchnorm *layer);

/* The weight of the batch that has been counted last. */
double sbn__batchnorm_weight(const sbn_batchnorm *layer);

/* Averages running means (unbiased 1), or variances, with those of a batch. */
void sbn__running_average(float *running, const double *moments, double unbiased, double weight,
                          size_t channels);

/* Sets the layer's own by those in `given`, which are changed for nothing if they are the same. */
int sbn__running_take(sbn_batchnorm *layer);
