#include "launch/forward.h"

#include "launch/apply.h"
#include "launch/fusion.h"
#include "launch/reduce.h"

int sbn__forward_reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                        const sbn_wait *wait, cl_event *event)
{
    const sbn_shard *shard = &lp->shards[replica->index];
    const cl_ulong x_offset = shard->x.offset;
    const sbn_shape *g = &lp->shapes[replica->index];
    sbn_argument arguments[3 + SBN_SLICE_ARGUMENTS] = {SBN_ARG(shard->x.mem), SBN_ARG(x_offset),
                                                       SBN_ARG(g->x_gap)};
    sbn_kernels *kernels;
    const int status = sbn__reduce_kernels(lp->layer, replica, 0, g->x_gap != 0, &kernels);
    return status ? status
                  : sbn__reduce_launch(lp, replica, &kernels->forward_reduce[plan->reduction],
                                       arguments, 3, plan, wait, event);
}

int sbn__forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_shard *shard,
                        const sbn_shape *shape, sbn_channel_table *coefficients,
                        sbn_normalise normalise, const sbn_mask *mask, cl_event ready,
                        cl_event *applied)
{
    const size_t r = replica->index;
    const cl_ulong x_offset = shard->x.offset, y_offset = shard->y.offset;
    const cl_ulong weight_offset = shard->weight.offset, bias_offset = shard->bias.offset;
    const cl_uint affine = (cl_uint)layer->affine;
    const cl_uint scale_only = normalise == SBN_SCALE_ONLY;
    const cl_mem table = coefficients->device[r].mem;
    /* Without an affine part any buffer serves: the kernel does not access it. */
    const cl_mem weight = affine ? shard->weight.mem : table;
    const cl_mem bias = affine && !scale_only ? shard->bias.mem : table;
    const int fusion = normalise == SBN_NORMALISE ? layer->fusion : 0;
    enum { OWN_ARGUMENTS = 13 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_FORWARD_FUSION + SBN_WALK_ARGUMENTS] = {
        SBN_ARG(shard->x.mem),  SBN_ARG(x_offset),     SBN_ARG(shape->x_gap), SBN_ARG(shard->y.mem),
        SBN_ARG(y_offset),      SBN_ARG(shape->y_gap), SBN_ARG(table),        SBN_ARG(weight),
        SBN_ARG(weight_offset), SBN_ARG(bias),         SBN_ARG(bias_offset),  SBN_ARG(affine),
        SBN_ARG(scale_only),
    };
    sbn_fusion fused;
    const size_t count = fusion ? sbn__fuse_forward(&fused, layer, shard, mask, table, arguments,
                                                    OWN_ARGUMENTS)
                                : OWN_ARGUMENTS;
    sbn_wait wait = {{NULL}, 0};
    sbn__wait_add(&wait, ready);
    int status = sbn__channel_table_wait(coefficients, replica, &wait);
    if (!status)
        status = sbn__launch_apply(replica, replica->kernels[shape->type][fusion].forward_apply,
                                   shape, arguments, count, &wait, applied);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *applied);
    return status;
}
