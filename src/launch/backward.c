#include "launch/backward.h"

#include "base/activation.h"
#include "launch/apply.h"
#include "launch/reduce.h"
#include "plan/sizes.h"

int sbn__backward_reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                         const sbn_combining *combining, const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_shard *shard = &lp->shards[r];
    const sbn_shape *g = &lp->shapes[r];
    const sbn_batchnorm *layer = lp->layer;
    sbn_channel_table *coefficients = &lp->saved->table;
    const sbn_backward_reduce_arguments own = {
        .x = shard->x.mem,
        .x_offset = shard->x.offset,
        .x_gap = g->x_gap,
        .dy = shard->dy.mem,
        .dy_offset = shard->dy.offset,
        .dy_gap = g->dy_gap,
        .coefficients = coefficients->copies[r].buffer.mem,
    };
    sbn_activation_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_backward_reduce(&arguments, &own);
    sbn__fuse_activation(&fused, layer, shard, &lp->saved->masks[r], own.coefficients, &arguments);
    sbn__add_tail_of(&arguments, combining, 0, replica);
    sbn_wait all = *wait;
    sbn_kernels *kernels;
    /* A residual alone makes no difference here. */
    int status = sbn__reduce_kernels(lp, replica,
                                     sbn__fusion_sums(layer->fusion) ? layer->fusion : 0, &kernels);
    if (!status)
        status = sbn__channel_table_wait(coefficients, replica, &all);
    if (!status)
        status = sbn__reduce_launch(lp, replica, &kernels->of[plan->reduction][1], &arguments, plan,
                                    &all, event);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *event);
    return status;
}

static int wants_residual_grad(const sbn_batchnorm *layer, const sbn_shard *shard)
{
    return layer->config.residual && shard->residual_grad.mem;
}

int sbn__backward_applies(const sbn_layer_pass *lp, size_t replica)
{
    const sbn_shard *shard = &lp->shards[replica];
    return lp->shapes[replica].elements > 0 &&
           (shard->dx.mem || wants_residual_grad(lp->layer, shard));
}

sbn_backward_outputs sbn__backward_outputs_of(const sbn_layer_pass *lp, sbn_shard *shard)
{
    const sbn_batchnorm *layer = lp->layer;
    const int wants = wants_residual_grad(layer, shard);
    const int recovers = layer->config.from_output && !lp->saved->frozen;
    const int fuses = layer->config.activation != SBN_IDENTITY || wants || recovers;
    const sbn_backward_outputs outputs = {
        .fusion = fuses ? layer->fusion : 0,
        .stores = wants && shard->dx.mem,
        .only = wants && !shard->dx.mem,
        .constant = lp->saved->frozen,
    };
    if (outputs.only)
        shard->dx = shard->residual_grad;
    /* Constant statistics may have no need of x. */
    if (!shard->x.mem)
        shard->x = shard->dy;
    return outputs;
}

sbn_backward_tensor_arguments sbn__backward_tensors(const sbn_layer_pass *lp, size_t replica,
                                                    const sbn_shard *shard)
{
    const sbn_shape *g = &lp->shapes[replica];
    const cl_mem table = lp->saved->table.copies[replica].buffer.mem;
    return (sbn_backward_tensor_arguments){
        .x = shard->x.mem,
        .x_offset = shard->x.offset,
        .x_gap = g->x_gap,
        .dy = shard->dy.mem,
        .dy_offset = shard->dy.offset,
        .dy_gap = g->dy_gap,
        /* The kernel does not access buffers that are not there; any will do in their place. */
        .dx = sbn__backward_applies(lp, replica) ? shard->dx.mem
                                                 : lp->gradients.copies[replica].buffer.mem,
        .dx_offset = shard->dx.offset,
        .dx_gap = g->dx_gap,
        .weights = lp->layer->affine ? shard->weight.mem : table,
        .weight_offset = shard->weight.offset,
        .affine = (cl_uint)lp->layer->affine,
        .coefficients = table,
    };
}

int sbn__backward_launch(sbn_layer_pass *lp, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    sbn_shard shard = lp->shards[r];
    const sbn_batchnorm *layer = lp->layer;
    const sbn_backward_outputs outputs = sbn__backward_outputs_of(lp, &shard);
    const sbn_shape *g = &lp->shapes[r];
    sbn_channel_table *coefficients = &lp->saved->table, *gradients = &lp->gradients;
    const sbn_backward_tensor_arguments tensors = sbn__backward_tensors(lp, r, &shard);
    const sbn_backward_apply_arguments own = {.gradients = gradients->copies[r].buffer.mem};
    sbn_backward_fusion_arguments fused;
    sbn_arguments arguments = {.count = 0};
    sbn__add_backward_tensor(&arguments, &tensors);
    sbn__add_backward_apply(&arguments, &own);
    if (outputs.fusion)
        sbn__fuse_backward(&fused, layer, &shard, &lp->saved->masks[r], outputs,
                           tensors.coefficients, &arguments);
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    int status = sbn__channel_table_wait(coefficients, replica, &wait);
    if (!status)
        status = sbn__channel_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn__launch_apply(replica, replica->kernels[g->type][outputs.fusion], 1, g,
                                   &arguments, &wait, event);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *event);
    if (!status)
        status = sbn__channel_table_touched(gradients, replica, *event);
    return status;
}

/* Enqueued after the last command of step 3, so that its event covers all of them. */
int sbn__backward_store(sbn_layer_pass *lp, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_channel_table *gradients = &lp->gradients;
    if (!sbn__backward_stores(lp, r))
        return SBN_SUCCESS;
    const size_t groups = sbn__ceil_div(lp->layer->channels, SBN_ELEMENTWISE_ITEMS);
    const sbn_store_gradients_arguments own = {
        .gradients = gradients->copies[r].buffer.mem,
        .channels = (cl_uint)lp->layer->channels,
    };
    const sbn_store_arguments store = sbn__store_arguments(lp, r);
    sbn_arguments arguments = {.count = 0};
    sbn__add_store_gradients(&arguments, &own);
    sbn__add_store(&arguments, &store);
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    sbn__wait_behind(&wait, replica, replica, lp->work[r].applied);
    int status = sbn__channel_table_wait(gradients, replica, &wait);
    if (status)
        return status;
    cl_event stored;
    status = sbn__launch(replica, &replica->kernels[SBN_F32][0]->of[SBN_STORE_GRADIENTS][0],
                         arguments.list, arguments.count, 1, &groups, &wait, &stored);
    if (status)
        return status;
    sbn__release_event(&lp->work[r].applied);
    lp->work[r].applied = stored;
    return sbn__channel_table_touched(gradients, replica, stored);
}
