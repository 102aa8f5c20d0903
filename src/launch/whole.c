#include "launch/whole.h"

#include "launch/backward.h"
#include "launch/reduce.h"
#include "plan/launch_plan.h"
#include "plan/sizes.h"
#include "plan/whole.h"

/* Both kernels are told this of a layer pass's shape and scratch. */
typedef struct whole_walk {
    cl_uint samples, channels, plane, blocks, strip;
    cl_float last_reciprocal;
    cl_uint non_temporal;
    cl_mem accumulators, wide;
    cl_uint thin;
    cl_double eps;
    cl_uint clamps;
} whole_walk;

#define WALK_ARGUMENTS(w) \
    SBN_ARG((w).samples), SBN_ARG((w).channels), SBN_ARG((w).plane), SBN_ARG((w).blocks), \
        SBN_ARG((w).strip), SBN_ARG((w).last_reciprocal), SBN_ARG((w).non_temporal), \
        SBN_ARG((w).accumulators), SBN_ARG((w).wide), SBN_ARG((w).thin), SBN_ARG((w).eps), \
        SBN_ARG((w).clamps)

enum { WALK_ARGUMENT_COUNT = 12 };

size_t sbn__whole_strip(const sbn_layer_pass *lp)
{
    const sbn_group *group = lp->group;
    if (group->replica_count != 1)
        return 0;
    const size_t tensors = lp->kind->fills && !lp->layer->residual ? 1 : 2;
    return lp->kind->whole ? sbn__plan_whole(lp->shapes, group->replicas, tensors) : 0;
}

static int fill_walk(whole_walk *walk, sbn_layer_pass *lp, sbn_replica *replica)
{
    const sbn_shape *g = lp->shapes;
    sbn_work *work = &lp->work[replica->index];
    const size_t length = sbn__accumulator_length(lp->kind->format);
    const int status = sbn__reserve(replica, &work->partial,
                                    sizeof(int64_t) * length * g->channels);
    *walk = (whole_walk){
        .samples = (cl_uint)g->samples,
        .channels = (cl_uint)g->channels,
        .plane = (cl_uint)g->plane,
        .blocks = g->blocks,
        .strip = (cl_uint)lp->strip,
        .last_reciprocal = g->last_reciprocal,
        .non_temporal = sbn__plan_apply(g, replica).non_temporal,
        .accumulators = work->partial.mem,
        .wide = work->wide.mem,
        .thin = sbn__layer_pass_is_thin(lp),
        .eps = lp->layer->eps.eps,
        .clamps = (cl_uint)lp->layer->eps.clamp,
    };
    return status;
}

static int launch(sbn_layer_pass *lp, sbn_replica *replica, sbn_kernel *kernel,
                  const sbn_argument *arguments, size_t count, const sbn_wait *wait,
                  cl_event *event)
{
    const size_t work_groups = sbn__ceil_div(lp->layer->channels, lp->strip);
    return sbn__launch(replica, kernel, arguments, count, 1, &work_groups, wait, event);
}

int sbn__whole_forward(sbn_layer_pass *lp, sbn_replica *replica, int tracking, sbn_wait *wait,
                       cl_event *event)
{
    const size_t r = replica->index;
    sbn_batchnorm *layer = lp->layer;
    sbn_running *running = layer->running;
    sbn_channel_table *table = &lp->saved->table;
    const sbn_shard *shard = &lp->shards[r];
    const sbn_shape *g = lp->shapes;
    const cl_ulong x_offset = shard->x.offset, y_offset = shard->y.offset;
    const cl_ulong weight_offset = shard->weight.offset, bias_offset = shard->bias.offset;
    const cl_uint affine = (cl_uint)layer->affine, tracks = (cl_uint)tracking;
    whole_walk walk;
    int status = fill_walk(&walk, lp, replica);
    if (!status)
        status = sbn__saved_moments_reserve(lp->saved->moments, replica);
    if (!status)
        status = sbn__channel_table_wait_to_write(table, replica, wait);
    if (status)
        return status;
    const cl_mem coefficients = table->device[r].mem, moments = lp->saved->moments->device[r].mem;
    /* The kernel does not access buffers that are not there; any will do in their place. */
    const cl_mem weight = affine ? shard->weight.mem : coefficients;
    const cl_mem bias = affine ? shard->bias.mem : coefficients;
    const cl_mem updated = tracking ? running->device.mem : moments;
    const cl_double share = tracking ? sbn__batchnorm_weight(layer) : 0.0;
    const cl_double unbiased = tracking ? (double)lp->count / (double)(lp->count - 1) : 0.0;
    const cl_long batches = tracking ? running->batches : 0;
    enum { OWN_ARGUMENTS = 11 + WALK_ARGUMENT_COUNT + 7 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_FORWARD_FUSION] = {
        SBN_ARG(shard->x.mem), SBN_ARG(x_offset),    SBN_ARG(g->x_gap), SBN_ARG(shard->y.mem),
        SBN_ARG(y_offset),     SBN_ARG(g->y_gap),    SBN_ARG(weight),   SBN_ARG(weight_offset),
        SBN_ARG(bias),         SBN_ARG(bias_offset), SBN_ARG(affine),   WALK_ARGUMENTS(walk),
        SBN_ARG(coefficients), SBN_ARG(moments),     SBN_ARG(updated),  SBN_ARG(tracks),
        SBN_ARG(share),        SBN_ARG(unbiased),    SBN_ARG(batches),
    };
    sbn_mask *mask = lp->kind->has_backward ? &lp->saved->masks[r] : NULL;
    if (mask)
        sbn__mask_begin(mask);
    sbn_fusion fused;
    const size_t count = sbn__fuse_forward(&fused, layer, shard, mask, coefficients, arguments,
                                           OWN_ARGUMENTS);
    if (tracking)
        sbn__wait_add(wait, running->last);
    sbn_kernels *kernels = &replica->kernels[layer->type][layer->fusion];
    status = launch(lp, replica, &kernels->forward_whole[g->layout], arguments, count, wait, event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return !status && tracking ? sbn__running_updated(running, lp->group, *event) : status;
}

int sbn__whole_backward(sbn_layer_pass *lp, sbn_replica *replica, int tracking, sbn_wait *wait,
                        cl_event *event)
{
    const size_t r = replica->index;
    sbn_shard own = lp->shards[r], *shard = &own;
    const sbn_shape *g = lp->shapes;
    const sbn_backward_outputs outputs = sbn__backward_outputs_of(lp, shard);
    const int fusion = sbn__backward_fusion(lp, outputs);
    sbn_channel_table *table = &lp->gradients, *statistics = &lp->saved->table;
    const cl_ulong x_offset = shard->x.offset, dy_offset = shard->dy.offset;
    const cl_ulong dx_offset = shard->dx.offset, weight_offset = shard->weight.offset;
    const cl_ulong weight_grad_offset = shard->weight_grad.offset;
    const cl_ulong bias_grad_offset = shard->bias_grad.offset;
    const cl_uint affine = (cl_uint)lp->layer->affine;
    const cl_uint has_dx = (cl_uint)sbn__backward_applies(lp, r);
    const cl_uint has_weight_grad = affine && shard->weight_grad.mem;
    const cl_uint has_bias_grad = affine && shard->bias_grad.mem;
    const cl_uint accumulate = (lp->flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    whole_walk walk;
    (void)tracking;
    int status = fill_walk(&walk, lp, replica);
    if (!status)
        status = sbn__channel_table_wait_to_write(table, replica, wait);
    if (!status)
        status = sbn__channel_table_wait(statistics, replica, wait);
    if (status)
        return status;
    const cl_mem coefficients = statistics->device[r].mem, gradients = table->device[r].mem;
    const cl_mem moments = lp->saved->moments->device[r].mem;
    /* The kernel does not access buffers that are not there; any will do in their place. */
    const cl_mem weight = affine ? shard->weight.mem : coefficients;
    const cl_mem dx = has_dx ? shard->dx.mem : gradients;
    const cl_mem weight_grad = has_weight_grad ? shard->weight_grad.mem : gradients;
    const cl_mem bias_grad = has_bias_grad ? shard->bias_grad.mem : gradients;
    enum { OWN_ARGUMENTS = 13 + WALK_ARGUMENT_COUNT + 10 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_BACKWARD_FUSION] = {
        SBN_ARG(shard->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(g->x_gap),
        SBN_ARG(shard->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(g->dy_gap),
        SBN_ARG(dx),
        SBN_ARG(dx_offset),
        SBN_ARG(g->dx_gap),
        SBN_ARG(has_dx),
        SBN_ARG(weight),
        SBN_ARG(weight_offset),
        SBN_ARG(affine),
        WALK_ARGUMENTS(walk),
        SBN_ARG(coefficients),
        SBN_ARG(moments),
        SBN_ARG(gradients),
        SBN_ARG(weight_grad),
        SBN_ARG(weight_grad_offset),
        SBN_ARG(has_weight_grad),
        SBN_ARG(bias_grad),
        SBN_ARG(bias_grad_offset),
        SBN_ARG(has_bias_grad),
        SBN_ARG(accumulate),
    };
    sbn_fusion fused;
    const size_t count = fusion
                             ? sbn__fuse_backward(&fused, lp->layer, shard, &lp->saved->masks[r],
                                                  outputs, coefficients, arguments, OWN_ARGUMENTS)
                             : OWN_ARGUMENTS;
    sbn_kernels *kernels = &replica->kernels[lp->layer->type][fusion];
    status = launch(lp, replica, &kernels->backward_whole[g->layout], arguments, count, wait,
                    event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__channel_table_touched(statistics, replica, *event);
}

int sbn__whole(sbn_layer_pass *lp, sbn_replica *replica, int tracks)
{
    const size_t r = replica->index;
    sbn_work *work = &lp->work[r];
    cl_event cleared = NULL, enqueued = NULL;
    sbn_wait wait = {{NULL}, 0};
    sbn__wait_add(&wait, lp->ready[r]);
    sbn__wait_add(&wait, work->last);
    /* The device overwrites what was saved. */
    if (lp->kind->fills)
        lp->saved->filled = 0;
    int status = sbn__reduce_prepare_wide(lp, replica, &wait, &cleared);
    if (!status)
        status = lp->kind->whole(lp, replica, tracks, &wait, &enqueued);
    if (cleared)
        sbn__move_event(&work->next, &cleared);
    if (!enqueued)
        return status;
    const int kept = sbn__keep_event(replica, &lp->last[r], enqueued);
    sbn__move_event(&work->next, &enqueued);
    return status ? status : kept;
}
