/*
 * Backward where mean and variance are constants: dx = weight invstd dy. That
 * is forward's formula of dy with mean 0 and bias 0, so its kernel computes it.
 */
#include <string.h>

#include "pass/backward.h"
#include "pass/forward.h"

/* The first three rows become that kernel's statistics: means, means_low, invstds. */
static void fill(sbn_layer_pass *layer_pass, const sbn_chunk *chunk)
{
    const size_t first = chunk->first, channels = chunk->channels;
    sbn__backward_write_coefficients(layer_pass, chunk);
    for (size_t r = 0; r < layer_pass->group->replica_count; ++r) {
        float *invstd = sbn__gradient_row(layer_pass, r, SBN_ROW_K);
        memset(sbn__gradient_row(layer_pass, r, SBN_ROW_G) + first, 0, sizeof(float) * channels);
        memset(sbn__gradient_row(layer_pass, r, SBN_ROW_G_LOW) + first, 0,
               sizeof(float) * channels);
        for (size_t c = first; c < first + channels; ++c)
            invstd[c] = (float)layer_pass->saved->invstd[c];
    }
}

static int apply(sbn_layer_pass *layer_pass, const sbn_chunk *chunk, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_shard shard = layer_pass->shards[r];
    int applies;
    const int status = sbn__backward_write(layer_pass, chunk, replica, &applies);
    if (status || !applies)
        return status;
    shard.x = shard.dy;
    shard.y = shard.dx;
    shard.bias = (sbn_buffer){layer_pass->gradients.device[r].mem, 0}; /* the row of zeros */
    sbn__release_event(&layer_pass->last[r]);
    return sbn__forward_launch(replica, layer_pass->layer, &shard, &chunk->geometries[r],
                               &layer_pass->gradients, layer_pass->ready[r], &layer_pass->last[r]);
}

/* Only the gradients of weight and bias are sums: of the group, ... */
static const sbn_layer_pass_kind global = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .least_count = 1,
    .format = sbn__backward_format,
    .reduce = sbn__backward_reduce,
    .finish = sbn__backward_finish,
    .write_coefficients = fill,
    .apply = apply,
    .store = sbn__backward_store,
};

/* ... of each replica, ... */
static const sbn_layer_pass_kind local = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .local = 1,
    .least_count = 1,
    .format = sbn__backward_format,
    .reduce = sbn__backward_reduce,
    .finish = sbn__backward_finish,
    .write_coefficients = fill,
    .apply = apply,
    .store = sbn__backward_store,
};

/* ... or not wanted. */
static const sbn_layer_pass_kind input = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS,
    .local = 1,
    .write_coefficients = fill,
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
