#include <math.h>
#include <string.h>

#include "launch/at_once.h"
#include "launch/backward.h"
#include "launch/forward.h"
#include "pass/begin.h"
#include "pass/sums.h"
#include "tensor/shard.h"

/* --- rows of the gradients' table, on the host ---------------------------------------------- */

/* lp->columns */
enum { DY, DY_XMU, OWN_DY, OWN_DY_XMU };

/* A row of a replica's host copy, which nothing else uses during the pass. */
static float *gradient_row(const sbn_layer_pass *lp, size_t replica, int which)
{
    return sbn__channel_table_rows(&lp->gradients, replica) + (size_t)which * lp->layer->channels;
}

/* A replica's weight_grad and bias_grad from columns of sums over its own shard or the group. */
static void put_gradients(const sbn_layer_pass *lp, size_t replica, const unsigned char *only,
                          const double *dy, const double *dy_xmu)
{
    const double *invstd = lp->saved->moments->invstd;
    float *weight = gradient_row(lp, replica, SBN_ROW_WEIGHT_GRAD),
          *bias = gradient_row(lp, replica, SBN_ROW_BIAS_GRAD);
    for (size_t c = 0; c < lp->layer->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

/* dx of no values needs none of the other rows. */
static void clear_gradients(const sbn_layer_pass *lp, size_t replica)
{
    memset(gradient_row(lp, replica, SBN_ROW_WEIGHT_GRAD), 0, sizeof(float) * lp->layer->channels);
    memset(gradient_row(lp, replica, SBN_ROW_BIAS_GRAD), 0, sizeof(float) * lp->layer->channels);
}

static void put_own_gradients(const sbn_layer_pass *lp, size_t replica, const sbn_format *format,
                              const unsigned char *only)
{
    double *dy = lp->columns[OWN_DY], *dy_xmu = lp->columns[OWN_DY_XMU];
    /* Of no values the sums are 0, and so are the gradients, also where invstd is not finite. */
    if (lp->shapes[replica].values == 0) {
        clear_gradients(lp, replica);
        return;
    }
    const sbn_accumulators accumulators = sbn__sums_of_replica(lp, replica, format);
    sbn__gradient_sums_of(&accumulators, lp->layer->channels, only, lp->saved->moments->mean, dy,
                          dy_xmu);
    put_gradients(lp, replica, only, dy, dy_xmu);
}

/* Writes what dx needs, which is equal for all replicas. */
static void put_means(const sbn_layer_pass *lp, const double *dy, const double *dy_xmu)
{
    const sbn_saved_moments *saved = lp->saved->moments;
    const size_t channels = lp->layer->channels;
    const double n = (double)lp->count;
    float *high = gradient_row(lp, 0, SBN_ROW_G_HIGH), *low = gradient_row(lp, 0, SBN_ROW_G_LOW),
          *ks = gradient_row(lp, 0, SBN_ROW_K);
    for (size_t c = 0; c < channels; ++c) {
        const sbn_double_float g = sbn__split_double(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        /* Where dy is not finite k is NaN, of which dx is NaN. */
        const int constant = sbn__is_clamped(saved->var[c], lp->layer->eps);
        ks[c] = constant && isfinite(dy[c]) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < lp->group->replica_count; ++r)
        for (int row = SBN_ROW_G_HIGH; row <= SBN_ROW_K; ++row)
            memcpy(gradient_row(lp, r, row), gradient_row(lp, 0, row), sizeof(float) * channels);
}

static void finish(sbn_layer_pass *lp, const sbn_accumulators *accumulators)
{
    const sbn_saved_moments *saved = lp->saved->moments;
    const size_t channels = lp->layer->channels;
    const unsigned char *only = accumulators->format == &sbn_wide ? lp->wide : NULL;
    double *dy = lp->columns[DY], *dy_xmu = lp->columns[DY_XMU];
    sbn__gradient_sums_of(accumulators, channels, only, saved->mean, dy, dy_xmu);
    if (lp->group->replica_count > 0)
        put_means(lp, dy, dy_xmu);
    /* A replica alone in its group has the group's sums. */
    const int all = lp->flags & SBN_GLOBAL_GRADIENTS || !sbn__layer_pass_has_peers(lp);
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        if (all)
            put_gradients(lp, r, only, dy, dy_xmu);
        else
            put_own_gradients(lp, r, accumulators->format, only);
}

/* Gradients of an empty batch are zeros; otherwise finish has filled the rows. */
static void commit(sbn_layer_pass *lp)
{
    for (size_t r = 0; lp->count == 0 && r < lp->group->replica_count; ++r)
        clear_gradients(lp, r);
}

/* --- kinds ---------------------------------------------------------------------------------- */

/*
 * With constant mean and variance dx = weight invstd dy: the scaling of the forward kernel applied to dy, with the
 * coefficients that the forward pass left on the device. With a fusion the backward kernel does it.
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
                               SBN_SCALE_ONLY, NULL, sbn__layer_pass_wait(lp, replica),
                               &lp->work[r].applied);
}

/* What kinds with sums over x and dy have in common. */
#define SUMS \
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X, .least_count = 1, .format = &sbn_backward_narrow, \
    .reduce = sbn__backward_reduce, .finish = finish

static const sbn_layer_pass_kind backward = {
    .operation = "backward",
    .code = SBN_CODE_BACKWARD,
    SUMS,
    .commit = commit,
    .apply = apply,
    .whole = sbn__whole_backward,
};

/* --- with constant statistics ------------------------------------------------------------ */

#define FROZEN \
    .operation = "frozen backward", .code = SBN_CODE_FROZEN_BACKWARD, .commit = commit, \
    .apply = apply

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
    if (!sbn__struct_is_valid(shards, replicas, sizeof *shards))
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
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "flags: expected SBN_ACCUMULATE_GRADIENTS, SBN_GLOBAL_GRADIENTS, both or "
                         "0 in a backward pass, got 0x%x",
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
