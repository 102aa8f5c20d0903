/* Step 3 of a forward pass, which evaluation and recomputation are alone. */
#ifndef SBN_PASS_FORWARD_H
#define SBN_PASS_FORWARD_H

#include "layer/batchnorm.h"

/* y = weight invstd (x - mean) + bias; or y = weight invstd x, of a shard without a bias. */
typedef enum sbn_normalise { SBN_NORMALISE, SBN_SCALE_ONLY } sbn_normalise;

/* Enqueues y from x, of a shape that is not empty, and a table of coefficients. */
int sbn__forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_shard *shard,
                        const sbn_shape *shape, sbn_channel_table *coefficients,
                        sbn_normalise normalise, cl_event ready, cl_event *applied);

/*
 * Brings a replica's table of the running statistics up to date; the caller sets table_fresh
 * when a command that reads it is enqueued.
 */
int sbn__running_write(sbn_batchnorm *layer, sbn_replica *replica);

/* Evaluation by the batch's own statistics. */
int sbn__forward_evaluation(sbn_batchnorm *layer, const sbn_shard *shards);

#endif
