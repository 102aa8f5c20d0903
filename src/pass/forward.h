/* Step 3 of a forward pass; evaluation and recomputation consist of it alone. */
#ifndef SBN_PASS_FORWARD_H
#define SBN_PASS_FORWARD_H

#include "layer/batchnorm.h"
#include "layer/saved.h"

/*
 * y = weight invstd (x - mean) + bias, with the layer's residual and activation, or without; or
 * y = weight invstd x, of a shard without a bias.
 */
typedef enum sbn_normalise { SBN_NORMALISE, SBN_NORMALISE_ALONE, SBN_SCALE_ONLY } sbn_normalise;

/*
 * Enqueues the computation of y from x and a table of coefficients, for a shape that is not empty.
 * `mask`: is written, if the layer needs one; or NULL.
 */
int sbn__forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_shard *shard,
                        const sbn_shape *shape, sbn_channel_table *coefficients,
                        sbn_normalise normalise, const sbn_mask *mask, cl_event ready,
                        cl_event *applied);

/* Creates the table of the running statistics if it has not been used before. */
int sbn__running_table(sbn_batchnorm *layer);

/*
 * Writes the running statistics to a replica's table unless they are there. The caller sets
 * table_fresh once a command that reads it is enqueued.
 */
int sbn__running_write(sbn_batchnorm *layer, sbn_replica *replica);

/* Evaluation by the batch's own statistics. */
int sbn__forward_evaluation(sbn_batchnorm *layer, const sbn_shard *shards);

#endif
