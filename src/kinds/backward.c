#include "kinds/gradients.h"
#include "launch/at_once.h"
#include "launch/backward.h"
#include "launch/forward.h"
#include "pass/begin.h"
#include "tensor/shard.h"

/*
 * With constant mean and variance dx = weight invstd dy: the scaling of the forward kernel applied to dy,
 * with the coefficients that the forward pass left on the device. With a fusion the backward kernel
 * does it.
 */
static int apply(sbn_layer_pass *lp, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_shard shard = lp->shards[r];
    if (!sbn__backward_applies(lp, r))
        return SBN_SUCCESS;
    sbn__release_event(&lp->work[r].applied);
    if (!lp->saved->frozen || sbn__backward_outputs_of(lp, &shard).fusion)
        return sbn__backward_launch(lp, replica, &lp->work[r].applied);
    sbn_shape shape = lp->shapes[r];
    shard.x = shard.dy;
    shard.y = shard.dx;
    shape.x_gap = shape.dy_gap;
    shape.y_gap = shape.dx_gap;
    return sbn__forward_launch(replica, lp->layer, &shard, &shape, &lp->saved->table,
                               SBN_SCALE_ONLY, NULL, lp->work[r].ready, &lp->work[r].applied);
}

/* What kinds with sums over x and dy have in common. */
#define SUMS \
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X, .least_count = 1, .format = &sbn_backward_narrow, \
    .reduce = sbn__backward_reduce, .finish = sbn__backward_finish

static const sbn_layer_pass_kind backward = {
    .operation = "backward",
    .code = SBN_CODE_BACKWARD,
    SUMS,
    .commit = sbn__backward_commit,
    .apply = apply,
    .whole = sbn__whole_backward,
};

/* --- with constant statistics ------------------------------------------------------------ */

#define FROZEN \
    .operation = "frozen backward", .code = SBN_CODE_FROZEN_BACKWARD, \
    .commit = sbn__backward_commit, .apply = apply

/* The gradients of weight and bias need sums over the group. */
static const sbn_layer_pass_kind global = {FROZEN, SUMS};

/* They need sums over each replica alone. */
static const sbn_layer_pass_kind local = {FROZEN, SUMS, .local = 1};

/* Neither gradient is wanted: nothing needs sums. */
static const sbn_layer_pass_kind input = {FROZEN, .needs = SBN_BACKWARD_NEEDS, .local = 1};

static int wants_gradients(const sbn_branch *branch)
{
    const sbn_shard *shards = branch->shards;
    const size_t replicas = branch->layer->group->replica_count;
    if (!shards || !sbn__struct_is_valid(shards, replicas, sizeof *shards))
        return 0;
    for (size_t r = 0; r < replicas; ++r) {
        const sbn_shard shard = sbn__shard_at(shards, r);
        if (shard.weight_grad.mem || shard.bias_grad.mem)
            return 1;
    }
    return 0;
}

/* The kind of a checked call whose saved statistics are constants. */
static const sbn_layer_pass_kind *frozen_kind(const sbn_branch *branch)
{
    if (!branch->layer->affine)
        return &input;
    if (branch->flags & SBN_GLOBAL_GRADIENTS)
        return &global;
    return wants_gradients(branch) ? &local : &input;
}

/* --- the calls ---------------------------------------------------------------------------- */

static int check_flags(const sbn_branch *branch)
{
    const unsigned known = SBN_ACCUMULATE_GRADIENTS | SBN_GLOBAL_GRADIENTS;
    if (branch->flags & ~known)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "flags: expected SBN_ACCUMULATE_GRADIENTS, SBN_GLOBAL_GRADIENTS, both or 0 in a "
            "backward pass, got 0x%x",
            branch->flags);
    return SBN_SUCCESS;
}

static const sbn_layer_pass_kind *choose(sbn_branch *branch, int *status)
{
    if (*status)
        return &backward;
    /* A pass that is refused must not wait for ranks that do not come: what is not filled says nothing. */
    *status = sbn__check_filled(branch->saved, branch->layer);
    const int frozen = *status ? sbn__is_fixed(branch->layer) : branch->saved->frozen;
    if (!*status)
        *status = check_flags(branch);
    return frozen ? frozen_kind(branch) : &backward;
}

int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return sbn__pass_begin(choose, branches, count, pass);
}

int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    return sbn__pass_run(choose, branches, count, results);
}

int sbn_backward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_pass **pass)
{
    const sbn_branch one = {sizeof one, layer, shards, saved, flags};
    return sbn_backward_branches_begin(&one, 1, pass);
}

int sbn_backward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved, unsigned flags,
                 sbn_result *result)
{
    const sbn_branch one = {sizeof one, layer, shards, saved, flags};
    return sbn_backward_branches(&one, 1, result);
}
