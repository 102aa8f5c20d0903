#include "launch/forward.h"

#include "launch/apply.h"
#include "launch/fusion.h"
#include "launch/reduce.h"

int sbn__forward_reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                        const sbn_combining *combining, const sbn_wait *wait, cl_event *event)
{
    const sbn_shard *shard = &lp->shards[replica->index];
    const sbn_shape *g = &lp->shapes[replica->index];
    const sbn_forward_reduce_arguments own = {
        .x = shard->x.mem,
        .x_offset = shard->x.offset,
        .x_gap = g->x_gap,
    };
    sbn_arguments arguments = {.count = 0};
    sbn_kernels *kernels;
    sbn__add_forward_reduce(&arguments, &own);
    sbn__add_tail_of(&arguments, combining, 1, replica);
    const int status = sbn__reduce_kernels(lp, replica, 0, &kernels);
    return status ? status
                  : sbn__reduce_launch(lp, replica, &kernels->of[plan->reduction][0], &arguments,
                                       plan, wait, event);
}

sbn_forward_tensor_arguments sbn__forward_tensors(const sbn_batchnorm *layer,
                                                  const sbn_shard *shard, const sbn_shape *shape,
                                                  cl_mem table)
{
    return (sbn_forward_tensor_arguments){
        .x = shard->x.mem,
        .x_offset = shard->x.offset,
        .x_gap = shape->x_gap,
        .y = shard->y.mem,
        .y_offset = shard->y.offset,
        .y_gap = shape->y_gap,
        .weights = layer->affine ? shard->weight.mem : table,
        .weight_offset = shard->weight.offset,
        .biases = layer->affine && shard->bias.mem ? shard->bias.mem : table,
        .bias_offset = shard->bias.offset,
        .affine = (cl_uint)layer->affine,
    };
}

int sbn__forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_shard *shard,
                        const sbn_shape *shape, sbn_channel_table *coefficients,
                        sbn_normalise normalise, const sbn_mask *mask, sbn_wait wait,
                        cl_event *applied)
{
    const cl_mem table = coefficients->copies[replica->index].buffer.mem;
    const int fusion = normalise == SBN_NORMALISE ? layer->fusion : 0;
    const sbn_forward_tensor_arguments tensors = sbn__forward_tensors(layer, shard, shape, table);
    const sbn_forward_apply_arguments own = {
        .coefficients = table,
        .scale_only = normalise == SBN_SCALE_ONLY,
    };
    sbn_forward_fusion_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_forward_tensor(&arguments, &tensors);
    sbn__add_forward_apply(&arguments, &own);
    if (fusion)
        sbn__fuse_forward(&fused, layer, shard, mask, table, &arguments);
    int status = sbn__channel_table_wait(coefficients, replica, &wait);
    if (!status)
        status = sbn__launch_apply(replica, replica->kernels[shape->type][fusion], 0, shape,
                                   &arguments, &wait, applied);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *applied);
    return status;
}
