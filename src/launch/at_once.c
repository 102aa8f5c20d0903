#include "launch/at_once.h"

#include "launch/backward.h"
#include "launch/forward.h"
#include "launch/reduce.h"
#include "plan/launch_plan.h"
#include "plan/sizes.h"
#include "plan/whole.h"

size_t sbn__whole_strip(const sbn_layer_pass *lp)
{
    const sbn_group *group = lp->group;
    if (group->replica_count != 1)
        return 0;
    const size_t tensors = lp->kind->fills && !lp->layer->config.residual ? 1 : 2;
    return lp->kind->whole ? sbn__plan_whole(lp->shapes, group->replicas, tensors) : 0;
}

static sbn_reduce_plan plan_of(const sbn_layer_pass *lp)
{
    return sbn__plan_reduce(lp->shapes, lp->group->replicas,
                            sbn__accumulator_length(lp->kind->format));
}

int sbn__reduction_combines(const sbn_layer_pass *lp)
{
    return lp->group->replica_count == 1 && plan_of(lp).sums_up;
}

/* slices: of which the kernel writes accumulators. */
static int combine_by(sbn_combine_launch *launch, size_t slices, sbn_layer_pass *lp,
                      sbn_replica *replica)
{
    sbn_work *work = &lp->work[replica->index];
    const size_t bytes = sizeof(int64_t) * sbn__accumulator_length(lp->kind->format) *
                         lp->layer->channels * slices;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    sbn__wait_behind(&wait, replica, replica, work->last);
    int status = sbn__reduce_prepare_wide(lp, replica, &wait, &work->next);
    if (!status)
        status = sbn__reserve(replica, &work->partial, bytes);
    work->reduced.mem = work->partial.mem;
    return status ? status : sbn__combine_by(launch, lp, replica, &wait);
}

static int reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                  const sbn_wait *wait, cl_event *event)
{
    const sbn_reduce_plan plan = plan_of(lp);
    return lp->kind->reduce(lp, replica, &plan, combining, wait, event);
}

int sbn__reduce_and_combine(sbn_layer_pass *lp, sbn_replica *replica)
{
    return combine_by(reduce, plan_of(lp).slices, lp, replica);
}

int sbn__whole(sbn_layer_pass *lp, sbn_replica *replica)
{
    return combine_by(lp->kind->whole, 1, lp, replica);
}

/* What both kernels of all steps are told of the shape. */
static sbn_whole_arguments whole_of(const sbn_layer_pass *lp, const sbn_replica *replica)
{
    const sbn_shape *g = lp->shapes;
    const sbn_work *work = &lp->work[replica->index];
    return (sbn_whole_arguments){
        .channels = (cl_uint)g->channels,
        .samples = (cl_uint)g->samples,
        .plane = (cl_uint)g->plane,
        .blocks = g->blocks,
        .strip = (cl_uint)lp->strip,
        .last_reciprocal = g->last_reciprocal,
        .non_temporal = sbn__plan_apply(g, replica).non_temporal,
        .accumulators = work->reduced.mem,
        .wide = work->wide.mem,
        .thin = sbn__layer_pass_is_thin(lp),
    };
}

static int launch_whole(const sbn_layer_pass *lp, sbn_replica *replica, int fusion,
                        const sbn_arguments *arguments, const sbn_wait *wait, cl_event *event)
{
    const size_t work_groups = sbn__ceil_div(lp->layer->channels, lp->strip);
    sbn_kernels *kernels = replica->kernels[lp->layer->config.type][fusion];
    sbn_kernel *kernel = &kernels->of[SBN_WHOLE_NCHW + lp->shapes->layout][!lp->kind->fills];
    return sbn__launch(replica, kernel, arguments->list, arguments->count, 1, &work_groups, wait,
                       event);
}

int sbn__whole_forward(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                       const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_batchnorm *layer = lp->layer;
    const sbn_shard *shard = &lp->shards[r];
    const cl_mem coefficients = combining->statistics.coefficients;
    const sbn_whole_arguments own = whole_of(lp, replica);
    const sbn_forward_tensor_arguments tensors = sbn__forward_tensors(layer, shard, lp->shapes,
                                                                      coefficients);
    sbn_mask *mask = lp->kind->has_backward ? &lp->saved->masks[r] : NULL;
    if (mask)
        sbn__mask_begin(mask);
    sbn_forward_fusion_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_forward_tensor(&arguments, &tensors);
    sbn__add_whole(&arguments, &own);
    sbn__add_combining(&arguments, combining, 1);
    sbn__fuse_forward(&fused, layer, shard, mask, coefficients, &arguments);
    return launch_whole(lp, replica, layer->fusion, &arguments, wait, event);
}

int sbn__whole_backward(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                        const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    sbn_shard shard = lp->shards[r];
    const sbn_backward_outputs outputs = sbn__backward_outputs_of(lp, &shard);
    const sbn_whole_arguments own = whole_of(lp, replica);
    const sbn_backward_tensor_arguments tensors = sbn__backward_tensors(lp, r, &shard);
    const sbn_backward_whole_arguments applies = {.has_dx = (cl_uint)sbn__backward_applies(lp, r)};
    sbn_backward_fusion_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_backward_tensor(&arguments, &tensors);
    sbn__add_whole(&arguments, &own);
    sbn__add_combining(&arguments, combining, 0);
    sbn__add_backward_whole(&arguments, &applies);
    if (outputs.fusion)
        sbn__fuse_backward(&fused, lp->layer, &shard, &lp->saved->masks[r], outputs,
                           tensors.coefficients, &arguments);
    return launch_whole(lp, replica, outputs.fusion, &arguments, wait, event);
}
