#include "kinds/frozen_backward.h"

#include "kinds/gradients.h"
#include "launch/backward.h"
#include "launch/forward.h"
#include "tensor/shard.h"

static sbn_channel_table *table_of(sbn_layer_pass *lp, size_t replica)
{
    return sbn__backward_stores(lp, replica) ? &lp->gradients : NULL;
}

/*
 * The backward pass with constant mean and variance: dx = weight invstd dy, the scaling of the
 * forward kernel applied to dy, with the coefficients that the forward pass left on the device.
 * With a fusion the backward kernel does it.
 */
static int apply(sbn_layer_pass *lp, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_shard shard = lp->shards[r];
    if (!sbn__backward_applies(lp, r))
        return SBN_SUCCESS;
    sbn__release_event(&lp->last[r]);
    sbn_backward_outputs outputs = sbn__backward_outputs_of(lp, &shard);
    outputs.constant = 1;
    if (sbn__backward_fusion(lp, outputs))
        return sbn__backward_launch(lp, replica, 1, &lp->last[r]);
    sbn_shape shape = lp->shapes[r];
    shard.x = shard.dy;
    shard.y = shard.dx;
    shape.x_gap = shape.dy_gap;
    shape.y_gap = shape.dx_gap;
    return sbn__forward_launch(replica, lp->layer, &shard, &shape, &lp->saved->table,
                               SBN_SCALE_ONLY, NULL, lp->ready[r], &lp->last[r]);
}

/* The gradients of weight and bias need sums over the group. */
static const sbn_layer_pass_kind global = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .least_count = 1,
    .format = &sbn_backward_narrow,
    .reduce = sbn__backward_reduce,
    .finish = sbn__backward_finish,
    .write_coefficients = sbn__backward_write_coefficients,
    .table = table_of,
    .apply = apply,
    .store = sbn__backward_store,
};

/* They need sums over each replica alone. */
static const sbn_layer_pass_kind local = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .local = 1,
    .least_count = 1,
    .format = &sbn_backward_narrow,
    .reduce = sbn__backward_reduce,
    .finish = sbn__backward_finish,
    .write_coefficients = sbn__backward_write_coefficients,
    .table = table_of,
    .apply = apply,
    .store = sbn__backward_store,
};

/* Neither gradient is wanted: nothing needs sums. */
static const sbn_layer_pass_kind input = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS,
    .local = 1,
    .write_coefficients = sbn__backward_write_coefficients,
    .table = table_of,
    .apply = apply,
    .store = sbn__backward_store,
};

static int wants_gradients(const sbn_branch *branch)
{
    const sbn_batchnorm *layer = branch->layer;
    const sbn_shard *shards = branch->shards;
    const size_t replicas = layer->group->replica_count;
    if (!layer->affine || !shards || !sbn__struct_is_valid(shards, replicas, sizeof *shards))
        return 0;
    for (size_t r = 0; r < replicas; ++r) {
        const sbn_shard shard = sbn__shard_at(shards, r);
        if (shard.weight_grad.mem || shard.bias_grad.mem)
            return 1;
    }
    return 0;
}

const sbn_layer_pass_kind *sbn__frozen_kind(const sbn_branch *branch)
{
    if (branch->flags & SBN_GLOBAL_GRADIENTS && branch->layer->affine)
        return &global;
    return wants_gradients(branch) ? &local : &input;
}
