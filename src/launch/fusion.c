#include "launch/fusion.h"

#include "base/activation.h"
#include "tensor/shard.h"

/* The members that every list with a mask has. */
#define MASK(from, table) \
    .mask = (from)->words.mem ? (from)->words.mem : (table), .mask_row = (from)->rows.length, \
    .mask_reciprocal = (from)->rows.reciprocal, .mask_padding = (from)->rows.padding

static cl_mem parameter(const sbn_batchnorm *layer, cl_mem mem, cl_mem table)
{
    return layer->affine && mem ? mem : table;
}

void sbn__fuse_forward(sbn_forward_fusion_arguments *own, const sbn_batchnorm *layer,
                       const sbn_shard *shard, const sbn_mask *mask, cl_mem table,
                       sbn_arguments *arguments)
{
    static const sbn_mask none;
    if (layer->config.activation == SBN_IDENTITY && !layer->config.residual)
        return;
    const sbn_mask *kept = mask && sbn__is_masked(layer) ? mask : &none;
    *own = (sbn_forward_fusion_arguments){
        .slope = (cl_float)layer->config.slope,
        .residual = layer->config.residual ? shard->residual.mem : table,
        .residual_offset = shard->residual.offset,
        MASK(kept, table),
        .keeps_mask = kept != &none,
    };
    sbn__add_forward_fusion(arguments, own);
}

void sbn__fuse_activation(sbn_activation_arguments *own, const sbn_batchnorm *layer,
                          const sbn_shard *shard, const sbn_mask *mask, cl_mem table,
                          sbn_arguments *arguments)
{
    if (!sbn__fusion_sums(layer->fusion))
        return;
    *own = (sbn_activation_arguments){
        .weights = parameter(layer, shard->weight.mem, table),
        .weight_offset = shard->weight.offset,
        .biases = parameter(layer, shard->bias.mem, table),
        .bias_offset = shard->bias.offset,
        .affine = (cl_uint)layer->affine,
        .slope = (cl_float)layer->config.slope,
        MASK(mask, table),
    };
    sbn__add_activation(arguments, own);
}

void sbn__fuse_backward(sbn_backward_fusion_arguments *own, const sbn_batchnorm *layer,
                        const sbn_shard *shard, const sbn_mask *mask, sbn_backward_outputs outputs,
                        cl_mem table, sbn_arguments *arguments)
{
    const int is_over_dy = outputs.stores && sbn__is_same_buffer(&shard->residual_grad, &shard->dy);
    *own = (sbn_backward_fusion_arguments){
        .biases = parameter(layer, shard->bias.mem, table),
        .bias_offset = shard->bias.offset,
        .slope = (cl_float)layer->config.slope,
        .residual_grad = outputs.stores ? shard->residual_grad.mem : table,
        .residual_grad_offset = shard->residual_grad.offset,
        /* 2: cl/common/fusion_backward.cl */
        .has_residual_grad = is_over_dy ? 2 : (cl_uint)outputs.stores,
        MASK(mask, table),
        .is_fixed = (cl_uint)outputs.constant,
        .only_gradient = (cl_uint)outputs.only,
    };
    sbn__add_backward_fusion(arguments, own);
}
