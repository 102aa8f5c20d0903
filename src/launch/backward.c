#include "launch/backward.h"

#include "base/activation.h"
#include "launch/apply.h"
#include "launch/reduce.h"
#include "tensor/use.h"

int sbn__backward_reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                         const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_shard *shard = &lp->shards[r];
    sbn_channel_table *coefficients = &lp->saved->table;
    const cl_ulong x_offset = shard->x.offset, dy_offset = shard->dy.offset;
    const cl_mem table = coefficients->device[r].mem;
    const sbn_shape *g = &lp->shapes[r];
    enum { OWN_ARGUMENTS = 7 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_BACKWARD_ACTIVATION + SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(shard->x.mem), SBN_ARG(x_offset),  SBN_ARG(g->x_gap), SBN_ARG(shard->dy.mem),
        SBN_ARG(dy_offset),    SBN_ARG(g->dy_gap), SBN_ARG(table),
    };
    const sbn_batchnorm *layer = lp->layer;
    sbn_kernels *kernels;
    sbn_fusion fused;
    const size_t count = sbn__fuse_activation(&fused, layer, shard, &lp->saved->masks[r], table,
                                              arguments, OWN_ARGUMENTS);
    sbn_wait all = *wait;
    /* A residual alone makes no difference here. */
    int status = sbn__reduce_kernels(layer, replica,
                                     sbn__fusion_sums(layer->fusion) ? layer->fusion : 0,
                                     (g->x_gap | g->dy_gap) != 0, &kernels);
    if (!status)
        status = sbn__channel_table_wait(coefficients, replica, &all);
    if (!status)
        status = sbn__reduce_launch(lp, replica, &kernels->backward_reduce[plan->reduction],
                                    arguments, count, plan, &all, event);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *event);
    return status;
}

int sbn__backward_stores(const sbn_layer_pass *lp, size_t replica)
{
    const sbn_shard *shard = &lp->shards[replica];
    return lp->layer->affine && (shard->weight_grad.mem || shard->bias_grad.mem);
}

static int wants_residual_grad(const sbn_batchnorm *layer, const sbn_shard *shard)
{
    return layer->residual && shard->residual_grad.mem;
}

int sbn__backward_applies(const sbn_layer_pass *lp, size_t replica)
{
    const sbn_shard *shard = &lp->shards[replica];
    return lp->shapes[replica].elements > 0 &&
           (shard->dx.mem || wants_residual_grad(lp->layer, shard));
}

sbn_backward_outputs sbn__backward_outputs_of(const sbn_layer_pass *lp, sbn_shard *shard)
{
    sbn_backward_outputs outputs = {0};
    const int wants = wants_residual_grad(lp->layer, shard);
    outputs.stores = wants && shard->dx.mem;
    outputs.only = wants && !shard->dx.mem;
    if (outputs.only)
        shard->dx = shard->residual_grad;
    /* Constant statistics may have no need of x. */
    if (!shard->x.mem)
        shard->x = shard->dy;
    return outputs;
}

int sbn__backward_fusion(const sbn_layer_pass *lp, sbn_backward_outputs outputs)
{
    const sbn_batchnorm *layer = lp->layer;
    const int recovers = layer->from_output && !outputs.constant;
    return layer->activation != SBN_IDENTITY || outputs.stores || outputs.only || recovers
               ? layer->fusion
               : 0;
}

int sbn__backward_launch(sbn_layer_pass *lp, sbn_replica *replica, int constant, cl_event *event)
{
    const size_t r = replica->index;
    sbn_shard own = lp->shards[r], *shard = &own;
    const sbn_batchnorm *layer = lp->layer;
    sbn_backward_outputs outputs = sbn__backward_outputs_of(lp, shard);
    outputs.constant = constant;
    const int fusion = sbn__backward_fusion(lp, outputs);
    const sbn_shape *g = &lp->shapes[r];
    sbn_channel_table *coefficients = &lp->saved->table, *gradients = &lp->gradients;
    const cl_ulong x_offset = shard->x.offset, dy_offset = shard->dy.offset;
    const cl_ulong dx_offset = shard->dx.offset, weight_offset = shard->weight.offset;
    const cl_uint affine = (cl_uint)layer->affine;
    const cl_mem weight = affine ? shard->weight.mem : coefficients->device[r].mem;
    enum { OWN_ARGUMENTS = 14 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_BACKWARD_FUSION + SBN_WALK_ARGUMENTS] = {
        SBN_ARG(shard->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(g->x_gap),
        SBN_ARG(shard->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(g->dy_gap),
        SBN_ARG(shard->dx.mem),
        SBN_ARG(dx_offset),
        SBN_ARG(g->dx_gap),
        SBN_ARG(coefficients->device[r].mem),
        SBN_ARG(gradients->device[r].mem),
        SBN_ARG(weight),
        SBN_ARG(weight_offset),
        SBN_ARG(affine),
    };
    sbn_fusion fused;
    const size_t count = fusion ? sbn__fuse_backward(&fused, layer, shard, &lp->saved->masks[r],
                                                     outputs, coefficients->device[r].mem,
                                                     arguments, OWN_ARGUMENTS)
                                : OWN_ARGUMENTS;
    sbn_wait wait = {{NULL}, 0};
    sbn__wait_add(&wait, lp->ready[r]);
    int status = sbn__channel_table_wait(coefficients, replica, &wait);
    if (!status)
        status = sbn__channel_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn__launch_apply(replica, replica->kernels[g->type][fusion].backward_apply, g,
                                   arguments, count, &wait, event);
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
    const sbn_shard *shard = &lp->shards[r];
    sbn_channel_table *gradients = &lp->gradients;
    const cl_mem table = gradients->device[r].mem;
    if (!sbn__backward_stores(lp, r))
        return SBN_SUCCESS;
    /* A missing buffer is replaced by any other: the kernel does not access it. */
    const cl_uint has_weight = shard->weight_grad.mem != NULL,
                  has_bias = shard->bias_grad.mem != NULL;
    const cl_mem weight = has_weight ? shard->weight_grad.mem : table;
    const cl_mem bias = has_bias ? shard->bias_grad.mem : table;
    const cl_ulong weight_offset = shard->weight_grad.offset, bias_offset = shard->bias_grad.offset;
    const cl_uint accumulate = (lp->flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    const cl_uint channels = (cl_uint)lp->layer->channels;
    const size_t groups = (lp->layer->channels + SBN_ELEMENTWISE_ITEMS - 1) / SBN_ELEMENTWISE_ITEMS;
    const sbn_argument arguments[] = {
        SBN_ARG(table),      SBN_ARG(weight),     SBN_ARG(weight_offset),
        SBN_ARG(has_weight), SBN_ARG(bias),       SBN_ARG(bias_offset),
        SBN_ARG(has_bias),   SBN_ARG(accumulate), SBN_ARG(channels),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn__wait_add(&wait, lp->ready[r]);
    sbn__wait_add(&wait, lp->last[r]);
    int status = sbn__layer_pass_check_last(lp, replica);
    if (!status)
        status = sbn__channel_table_wait(gradients, replica, &wait);
    if (status)
        return status;
    cl_event stored;
    status = sbn__launch(replica, &replica->sum_kernels.store_gradients, arguments,
                         sizeof arguments / sizeof *arguments, 1, &groups, &wait, &stored);
    if (status)
        return status;
    sbn__release_event(&lp->last[r]);
    lp->last[r] = stored;
    return sbn__channel_table_touched(gradients, replica, stored);
}
