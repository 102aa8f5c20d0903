/*
 * Backward where mean and variance are constants: dx = weight invstd dy. That
 * is forward's formula of dy with mean 0 and bias 0, so its kernel computes it.
 */
#include <string.h>

#include "backward.h"
#include "forward.h"

/* The first three rows become that kernel's statistics: means, means_low, invstds. */
static void fill(sbn_part *part, const sbn_piece *piece)
{
    const size_t first = piece->first, channels = piece->channels;
    sbn_backward_fill(part, piece);
    for (size_t r = 0; r < part->group->replica_count; ++r) {
        float *invstd = sbn_gradient_row(part, r, SBN_ROW_K);
        memset(sbn_gradient_row(part, r, SBN_ROW_G) + first, 0, sizeof(float) * channels);
        memset(sbn_gradient_row(part, r, SBN_ROW_G_LOW) + first, 0, sizeof(float) * channels);
        for (size_t c = first; c < first + channels; ++c)
            invstd[c] = (float)part->saved->invstd[c];
    }
}

static int apply(sbn_part *part, const sbn_piece *piece, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_share share = part->shares[r];
    int applies;
    const int status = sbn_backward_write(part, piece, replica, &applies);
    if (status || !applies)
        return status;
    share.x = share.dy;
    share.y = share.dx;
    share.bias = (sbn_buffer){part->gradients.device[r].mem, 0}; /* the row of zeros */
    sbn_release_event(&part->last[r]);
    return sbn_forward_launch(replica, part->layer, &share, &piece->geometries[r], &part->gradients,
                              part->ready[r], &part->last[r]);
}

/* Only the gradients of weight and bias are sums: of the group, ... */
static const sbn_part_kind global = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = sbn_backward_reduce,
    .take = sbn_backward_take,
    .fill = fill,
    .apply = apply,
    .store = sbn_backward_store,
};

/* ... of each replica, ... */
static const sbn_part_kind local = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .local = 1,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = sbn_backward_reduce,
    .take = sbn_backward_take,
    .fill = fill,
    .apply = apply,
    .store = sbn_backward_store,
};

/* ... or not wanted. */
static const sbn_part_kind input = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS,
    .local = 1,
    .fill = fill,
    .apply = apply,
    .store = sbn_backward_store,
};

static int wants_gradients(const sbn_branch *branch)
{
    const sbn_batchnorm *layer = branch->layer;
    const sbn_share *shares = branch->shares;
    for (size_t r = 0; layer->affine && shares && r < layer->group->replica_count; ++r)
        if (shares[r].weight_grad.mem || shares[r].bias_grad.mem)
            return 1;
    return 0;
}

const sbn_part_kind *sbn_frozen_kind(const sbn_branch *branch)
{
    if (branch->flags & SBN_GLOBAL_GRADIENTS && branch->layer->affine)
        return &global;
    return wants_gradients(branch) ? &local : &input;
}
