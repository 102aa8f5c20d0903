#include "launch/whole.h"

#include "launch/backward.h"
#include "launch/combine.h"
#include "launch/forward.h"
#include "launch/reduce.h"
#include "launch/tracking.h"
#include "plan/launch_plan.h"
#include "plan/sizes.h"
#include "plan/whole.h"

size_t sbn__whole_strip(const sbn_layer_pass *lp)
{
    const sbn_group *group = lp->group;
    if (group->replica_count != 1)
        return 0;
    const size_t tensors = lp->kind->fills && !lp->layer->residual ? 1 : 2;
    return lp->kind->whole ? sbn__plan_whole(lp->shapes, group->replicas, tensors) : 0;
}

/* Room for the accumulators, and what both kernels are told of the shape. */
static int prepare(sbn_whole_arguments *own, sbn_layer_pass *lp, sbn_replica *replica)
{
    const sbn_shape *g = lp->shapes;
    sbn_work *work = &lp->work[replica->index];
    const size_t length = sbn__accumulator_length(lp->kind->format);
    const int status = sbn__reserve(replica, &work->partial,
                                    sizeof(int64_t) * length * g->channels);
    *own = (sbn_whole_arguments){
        .samples = (cl_uint)g->samples,
        .plane = (cl_uint)g->plane,
        .blocks = g->blocks,
        .strip = (cl_uint)lp->strip,
        .last_reciprocal = g->last_reciprocal,
        .non_temporal = sbn__plan_apply(g, replica).non_temporal,
        .accumulators = work->partial.mem,
        .wide = work->wide.mem,
        .thin = sbn__layer_pass_is_thin(lp),
    };
    return status;
}

static int launch(sbn_layer_pass *lp, sbn_replica *replica, sbn_kernel *kernel,
                  const sbn_arguments *arguments, const sbn_wait *wait, cl_event *event)
{
    const size_t work_groups = sbn__ceil_div(lp->layer->channels, lp->strip);
    return sbn__launch(replica, kernel, arguments->list, arguments->count, 1, &work_groups, wait,
                       event);
}

int sbn__whole_forward(sbn_layer_pass *lp, sbn_replica *replica, int tracks, sbn_wait *wait,
                       cl_event *event)
{
    const size_t r = replica->index;
    sbn_batchnorm *layer = lp->layer;
    sbn_channel_table *table = &lp->saved->table;
    const sbn_shard *shard = &lp->shards[r];
    sbn_whole_arguments own;
    int status = prepare(&own, lp, replica);
    if (!status)
        status = sbn__saved_moments_reserve(lp->saved->moments, replica);
    if (!status)
        status = sbn__channel_table_wait_to_write(table, replica, wait);
    if (status)
        return status;
    const cl_mem coefficients = table->device[r].mem;
    const sbn_forward_tensor_arguments tensors = sbn__forward_tensors(layer, shard, lp->shapes,
                                                                      coefficients);
    const sbn_combine_arguments sums = sbn__combine_arguments(lp);
    const sbn_forward_combine_arguments tables = sbn__forward_combine_arguments(lp, r);
    const sbn_tracking_arguments tracking = sbn__tracking_of(lp, r, tracks, tables.moments);
    sbn_mask *mask = lp->kind->has_backward ? &lp->saved->masks[r] : NULL;
    if (mask)
        sbn__mask_begin(mask);
    sbn_forward_fusion_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_forward_tensor(&arguments, &tensors);
    sbn__add_whole(&arguments, &own);
    sbn__add_combine(&arguments, &sums);
    sbn__add_forward_combine(&arguments, &tables);
    sbn__add_tracking(&arguments, &tracking);
    sbn__fuse_forward(&fused, layer, shard, mask, coefficients, &arguments);
    sbn__tracking_wait(lp, &tracking, r, wait);
    sbn_kernels *kernels = &replica->kernels[layer->type][layer->fusion];
    status = launch(lp, replica, &kernels->forward_whole[lp->shapes->layout], &arguments, wait,
                    event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__tracking_enqueued(lp, &tracking, replica, *event);
}

int sbn__whole_backward(sbn_layer_pass *lp, sbn_replica *replica, int tracks, sbn_wait *wait,
                        cl_event *event)
{
    const size_t r = replica->index;
    sbn_shard shard = lp->shards[r];
    const sbn_backward_outputs outputs = sbn__backward_outputs_of(lp, &shard);
    const int fusion = sbn__backward_fusion(lp, outputs);
    sbn_channel_table *table = &lp->gradients, *statistics = &lp->saved->table;
    sbn_whole_arguments own;
    (void)tracks;
    int status = prepare(&own, lp, replica);
    if (!status)
        status = sbn__channel_table_wait_to_write(table, replica, wait);
    if (!status)
        status = sbn__channel_table_wait(statistics, replica, wait);
    if (status)
        return status;
    const sbn_backward_tensor_arguments tensors = sbn__backward_tensors(lp, r, &shard);
    const sbn_combine_arguments sums = sbn__combine_arguments(lp);
    const sbn_backward_combine_arguments tables = sbn__backward_combine_arguments(lp, r);
    const sbn_store_arguments store = sbn__store_arguments(lp, r);
    const sbn_backward_whole_arguments applies = {.has_dx = (cl_uint)sbn__backward_applies(lp, r)};
    sbn_backward_fusion_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_backward_tensor(&arguments, &tensors);
    sbn__add_whole(&arguments, &own);
    sbn__add_combine(&arguments, &sums);
    sbn__add_backward_combine(&arguments, &tables);
    sbn__add_store(&arguments, &store);
    sbn__add_backward_whole(&arguments, &applies);
    if (fusion)
        sbn__fuse_backward(&fused, lp->layer, &shard, &lp->saved->masks[r], outputs,
                           tensors.coefficients, &arguments);
    sbn_kernels *kernels = &replica->kernels[lp->layer->type][fusion];
    status = launch(lp, replica, &kernels->backward_whole[lp->shapes->layout], &arguments, wait,
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
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    sbn__wait_behind(&wait, replica, replica, work->last);
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
