#include "launch/fusion.h"

#include <string.h>

#include "base/activation.h"
#include "tensor/shard.h"

static size_t add(sbn_argument *arguments, size_t count, const sbn_argument *more, size_t some)
{
    memcpy(arguments + count, more, sizeof *more * some);
    return count + some;
}

#define ADD(more) add(arguments, count, more, sizeof(more) / sizeof *(more))

static cl_mem or_table(cl_mem mem, cl_mem table)
{
    return mem ? mem : table;
}

/* `tensor` is the residual, or its gradient; `has` tells whether it is accessed. */
static void fill(sbn_fusion *f, const sbn_batchnorm *layer, const sbn_shard *shard,
                 const sbn_mask *mask, const sbn_buffer *tensor, int has, cl_mem table)
{
    *f = (sbn_fusion){
        .slope = (cl_float)layer->slope,
        .weight = layer->affine ? or_table(shard->weight.mem, table) : table,
        .bias = layer->affine ? or_table(shard->bias.mem, table) : table,
        .tensor = has ? tensor->mem : table,
        .mask = mask ? or_table(mask->words.mem, table) : table,
        .weight_offset = shard->weight.offset,
        .bias_offset = shard->bias.offset,
        .tensor_offset = has ? tensor->offset : 0,
        .affine = (cl_uint)layer->affine,
        .has_tensor = (cl_uint)has,
        .keeps_mask = mask != NULL,
    };
    if (mask)
        f->rows = mask->rows;
}

size_t sbn__fuse_forward(sbn_fusion *f, const sbn_batchnorm *layer, const sbn_shard *shard,
                         const sbn_mask *mask, cl_mem table, sbn_argument *arguments, size_t count)
{
    if (layer->activation == SBN_IDENTITY && !layer->residual)
        return count;
    fill(f, layer, shard, sbn__is_masked(layer) ? mask : NULL, &shard->residual, layer->residual,
         table);
    const sbn_argument more[SBN_FORWARD_FUSION] = {
        SBN_ARG(f->slope),        SBN_ARG(f->tensor),      SBN_ARG(f->tensor_offset),
        SBN_ARG(f->mask),         SBN_ARG(f->rows.length), SBN_ARG(f->rows.reciprocal),
        SBN_ARG(f->rows.padding), SBN_ARG(f->keeps_mask),
    };
    return ADD(more);
}

size_t sbn__fuse_activation(sbn_fusion *f, const sbn_batchnorm *layer, const sbn_shard *shard,
                            const sbn_mask *mask, cl_mem table, sbn_argument *arguments,
                            size_t count)
{
    if (!sbn__fusion_sums(layer->fusion))
        return count;
    fill(f, layer, shard, mask, NULL, 0, table);
    const sbn_argument more[SBN_BACKWARD_ACTIVATION] = {
        SBN_ARG(f->weight),       SBN_ARG(f->weight_offset), SBN_ARG(f->bias),
        SBN_ARG(f->bias_offset),  SBN_ARG(f->affine),        SBN_ARG(f->slope),
        SBN_ARG(f->mask),         SBN_ARG(f->rows.length),   SBN_ARG(f->rows.reciprocal),
        SBN_ARG(f->rows.padding),
    };
    return ADD(more);
}

size_t sbn__fuse_backward(sbn_fusion *f, const sbn_batchnorm *layer, const sbn_shard *shard,
                          const sbn_mask *mask, sbn_backward_outputs outputs, cl_mem table,
                          sbn_argument *arguments, size_t count)
{
    fill(f, layer, shard, mask, &shard->residual_grad, outputs.stores, table);
    if (f->has_tensor && sbn__is_same_buffer(&shard->residual_grad, &shard->dy))
        f->has_tensor = 2; /* cl/common/fusion_backward.cl */
    f->constant = (cl_uint)outputs.constant;
    f->only_gradient = (cl_uint)outputs.only;
    const sbn_argument more[SBN_BACKWARD_FUSION] = {
        SBN_ARG(f->bias),         SBN_ARG(f->bias_offset),   SBN_ARG(f->slope),
        SBN_ARG(f->tensor),       SBN_ARG(f->tensor_offset), SBN_ARG(f->has_tensor),
        SBN_ARG(f->mask),         SBN_ARG(f->rows.length),   SBN_ARG(f->rows.reciprocal),
        SBN_ARG(f->rows.padding), SBN_ARG(f->constant),      SBN_ARG(f->only_gradient),
    };
    return ADD(more);
}
