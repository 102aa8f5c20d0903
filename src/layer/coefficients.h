/*
 * A table of coefficients: what step 3 needs of each channel's statistics, as the kernels read it.
 * Rows, of all channels each (src/program/kernel_constants.h):
 *
 *   SBN_ROW_MEAN_HIGH, SBN_ROW_MEAN_LOW   the mean as the sum of two floats
 *   SBN_ROW_INVSTD                        1 / sqrt(var + eps); NaN where that is infinite
 *
 * One host copy serves all replicas.
 */
#ifndef SBN_LAYER_COEFFICIENTS_H
#define SBN_LAYER_COEFFICIENTS_H

#include "device/channel_table.h"
#include "exact/statistics.h"
#include "group/group.h"

int sbn__coefficients_create(sbn_channel_table *table, sbn_group *group, size_t channels);

/* Writes the host copy, which must not be in use. */
void sbn__coefficients_write(const sbn_channel_table *table, const double *mean,
                             const double *invstd);

/* The same, of running statistics. */
void sbn__coefficients_write_running(const sbn_channel_table *table, const float *mean,
                                     const float *var, sbn_eps eps);

#endif
