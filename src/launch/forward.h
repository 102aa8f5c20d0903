/* Kernels of a forward pass; evaluation and recomputation consist of step 3 alone. */
#pragma once

#include "launch/combining.h"
#include "launch/layer_pass.h"

/* Enqueues step 1 as the layer pass's kind does. */
int sbn__forward_reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                        const sbn_combining *combining, const sbn_wait *wait, cl_event *event);

/*
 * y = weight invstd (x - mean) + bias, with the layer's residual and activation, or without; or
 * y = weight invstd x, of a shard without a bias.
 */
typedef enum sbn_normalise { SBN_NORMALISE, SBN_NORMALISE_ALONE, SBN_SCALE_ONLY } sbn_normalise;

/*
 * The arguments of step 3 for tensors and parameters. `table` stands in for a weight or a bias that is
 * not there: kernels do not access it.
 */
sbn_forward_tensor_arguments sbn__forward_tensors(const sbn_batchnorm *layer,
                                                  const sbn_shard *shard, const sbn_shape *shape,
                                                  cl_mem table);

/*
 * Enqueues the computation of y from x and a table of coefficients, for a shape that is not empty.
 * `mask`: is written, if the layer needs one; or NULL.
 */
int sbn__forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_shard *shard,
                        const sbn_shape *shape, sbn_channel_table *coefficients,
                        sbn_normalise normalise, const sbn_mask *mask, sbn_wait wait,
                        cl_event *applied);
