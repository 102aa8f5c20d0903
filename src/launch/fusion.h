/* The arguments of kernels with a fusion: cl/common/fusion.cl, cl/common/fusion_forward.cl, cl/common/fusion_backward.cl. */
#pragma once

#include "launch/arguments.h"
#include "layer/batchnorm.h"
#include "layer/saved.h"

/*
 * Each fills a struct, and appends its arguments. `table` stands in for buffers that are not there:
 * kernels do not access it.
 */

/* Step 3 of a forward pass; none if nothing is fused with it. `mask`: kept; or NULL. */
void sbn__fuse_forward(sbn_forward_fusion_arguments *own, const sbn_batchnorm *layer,
                       const sbn_shard *shard, const sbn_mask *mask, cl_mem table,
                       sbn_arguments *arguments);

/* Step 1 of a backward pass; none if the fusion does not change it. */
void sbn__fuse_activation(sbn_activation_arguments *own, const sbn_batchnorm *layer,
                          const sbn_shard *shard, const sbn_mask *mask, cl_mem table,
                          sbn_arguments *arguments);

/*
 * What step 3 of a backward pass writes. `fusion`: 0 where it makes no difference; `stores`: the
 * residual's gradient besides dx; `only`: in its place; `constant`: the statistics are.
 */
typedef struct sbn_backward_outputs {
    int fusion, stores, only, constant;
} sbn_backward_outputs;

void sbn__fuse_backward(sbn_backward_fusion_arguments *own, const sbn_batchnorm *layer,
                        const sbn_shard *shard, const sbn_mask *mask, sbn_backward_outputs outputs,
                        cl_mem table, sbn_arguments *arguments);
