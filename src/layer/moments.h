/*
 * The statistics of each channel that a forward pass saves. The moments are mean, variance and
 * inverse standard deviation as doubles: on the host where that has combined, else on each replica's
 * device, from where the host reads them on demand. The coefficients are what step 3 needs of them,
 * a table of rows as the kernels read it (src/program/kernel_constants.h):
 *
 *   SBN_ROW_MEAN_HIGH, SBN_ROW_MEAN_LOW   the mean as the sum of two floats
 *   SBN_ROW_INVSTD                        1 / sqrt(var + eps); NaN where that is infinite
 *
 * One host copy of the coefficients serves all replicas.
 */
#pragma once

#include "device/channel_table.h"
#include "exact/statistics.h"
#include "group/group.h"

typedef struct sbn_saved_moments {
    size_t channels, replicas;
    double *mean, *var, *invstd;
    int on_host, on_device;    /* which copies are there */
    sbn_device_buffer *device; /* per replica: SBN_MOMENT_ROWS of doubles */
} sbn_saved_moments;

/* Returns NULL without memory. */
sbn_saved_moments *sbn__saved_moments_create(size_t channels, size_t replicas);
void sbn__saved_moments_destroy(sbn_saved_moments *moments);

/* Room for a replica's copy. */
int sbn__saved_moments_reserve(sbn_saved_moments *moments, sbn_replica *replica);

int sbn__coefficients_create(sbn_channel_table *table, sbn_group *group, size_t channels);

/* Writes the host copy, if there is one; it must not be in use. */
void sbn__coefficients_write(const sbn_channel_table *table, const double *mean,
                             const double *invstd);

/* The same, of running statistics. */
void sbn__coefficients_write_running(const sbn_channel_table *table, const float *mean,
                                     const float *var, sbn_eps eps);
