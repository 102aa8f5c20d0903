/* The arguments of kernels with a fusion: cl/common/fusion.cl, cl/common/fusion_forward.cl, cl/common/fusion_backward.cl. */
#ifndef SBN_LAUNCH_FUSION_H
#define SBN_LAUNCH_FUSION_H

#include "layer/batchnorm.h"
#include "layer/saved.h"

/* Each function adds at most so many arguments; `arguments` must have room for them. */
enum { SBN_FORWARD_FUSION = 8, SBN_BACKWARD_ACTIVATION = 10, SBN_BACKWARD_FUSION = 12 };

/* The arguments point to these. */
typedef struct sbn_fusion {
    cl_float slope;
    cl_mem weight, bias, tensor, mask;
    cl_ulong weight_offset, bias_offset, tensor_offset;
    cl_uint affine, has_tensor, keeps_mask, constant, only_gradient;
    sbn_mask_rows rows;
} sbn_fusion;

/*
 * Each adds its arguments after `count` and returns how many there are then. `table` stands in for
 * buffers that are not there: kernels do not access it.
 */

/* Step 3 of a forward pass; none if nothing is fused with it. `mask`: kept; or NULL. */
size_t sbn__fuse_forward(sbn_fusion *fusion, const sbn_batchnorm *layer, const sbn_shard *shard,
                         const sbn_mask *mask, cl_mem table, sbn_argument *arguments, size_t count);

/* Step 1 of a backward pass; none if the fusion does not change it. */
size_t sbn__fuse_activation(sbn_fusion *fusion, const sbn_batchnorm *layer, const sbn_shard *shard,
                            const sbn_mask *mask, cl_mem table, sbn_argument *arguments,
                            size_t count);

/*
 * Step 3 of a backward pass that uses the fusion. `stores`: the residual's gradient besides dx;
 * `only`: in its place; `constant`: the statistics are.
 */
typedef struct sbn_backward_outputs {
    int stores, only, constant;
} sbn_backward_outputs;

size_t sbn__fuse_backward(sbn_fusion *fusion, const sbn_batchnorm *layer, const sbn_shard *shard,
                          const sbn_mask *mask, sbn_backward_outputs outputs, cl_mem table,
                          sbn_argument *arguments, size_t count);

#endif
