#include "kinds/forward.h"

#include <string.h>

#include "launch/at_once.h"
#include "launch/forward.h"
#include "launch/running_table.h"
#include "launch/tracking.h"
#include "pass/begin.h"
#include "tensor/shard.h"

#define FORWARD_NEEDS (SBN_NEEDS_X | SBN_NEEDS_Y | SBN_NEEDS_WEIGHT | SBN_NEEDS_BIAS)

/* lp->columns */
enum { MEAN, VAR };

static void finish(sbn_layer_pass *lp, const sbn_accumulators *accumulators)
{
    const size_t channels = lp->layer->channels;
    sbn__moments_of(accumulators, channels, accumulators->format == &sbn_wide ? lp->wide : NULL,
                    lp->count, lp->columns[MEAN], lp->columns[VAR]);
}

/* Copies the columns to the saved statistics, completes these, and writes the table. */
static void save(sbn_layer_pass *lp)
{
    const sbn_saved_moments *moments = lp->saved->moments;
    const size_t channels = lp->layer->channels, bytes = sizeof(double) * channels;
    memcpy(moments->mean, lp->columns[MEAN], bytes);
    memcpy(moments->var, lp->columns[VAR], bytes);
    for (size_t c = 0; c < channels; ++c)
        moments->invstd[c] = sbn__invstd(moments->var[c], lp->layer->eps);
    sbn__coefficients_write(&lp->saved->table, moments->mean, moments->invstd);
}

/* Without values there was nothing to finish: mean and variance are 0. */
static void commit(sbn_layer_pass *lp)
{
    const size_t channels = lp->layer->channels;
    if (lp->count == 0) {
        memset(lp->columns[MEAN], 0, sizeof(double) * channels);
        memset(lp->columns[VAR], 0, sizeof(double) * channels);
    }
    save(lp);
    sbn__tracking_commit(lp);
}

/*
 * Constant statistics: nothing is combined, and the running statistics are saved as the pass's. The
 * same layer may come once more in the call, with others.
 */
static int take_running(sbn_layer_pass *lp)
{
    const sbn_batchnorm *layer = lp->layer;
    const int status = sbn__running_given(lp->layer, lp->shards);
    for (size_t c = 0; c < layer->channels && !status; ++c) {
        lp->columns[MEAN][c] = layer->running->mean[c];
        lp->columns[VAR][c] = layer->running->var[c];
    }
    return status;
}

static int apply(sbn_layer_pass *lp, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_channel_table *table = &lp->saved->table;
    if (lp->shapes[r].elements == 0)
        return SBN_SUCCESS;
    sbn_mask *mask = lp->kind->has_backward ? &lp->saved->masks[r] : NULL;
    if (mask)
        sbn__mask_begin(mask);
    sbn__release_event(&lp->work[r].applied);
    return sbn__forward_launch(replica, lp->layer, &lp->shards[r], &lp->shapes[r], table,
                               SBN_NORMALISE, mask, sbn__layer_pass_wait(lp, replica),
                               &lp->work[r].applied);
}

#define OWN_STATISTICS \
    .format = &sbn_forward_narrow, .reduce = sbn__forward_reduce, .finish = finish, \
    .commit = commit, .whole = sbn__whole_forward, .fills = 1, .apply = apply

static const sbn_layer_pass_kind training = {
    OWN_STATISTICS,
    .operation = "forward",
    .code = SBN_CODE_FORWARD,
    .has_backward = 1,
    .needs = FORWARD_NEEDS | SBN_MAY_TRACK,
    .least_count = 2,
};

static const sbn_layer_pass_kind evaluation = {
    OWN_STATISTICS,
    .operation = "evaluation",
    .code = SBN_CODE_EVALUATION,
    .needs = FORWARD_NEEDS | SBN_MAY_REPLACE_X,
    .least_count = 1,
};

static const sbn_layer_pass_kind frozen = {
    .operation = "forward",
    .code = SBN_CODE_FORWARD,
    .needs = FORWARD_NEEDS | SBN_MAY_REPLACE_X | SBN_READS_RUNNING,
    .local = 1,
    .fills = 1,
    .has_backward = 1,
    .take = take_running,
    .commit = save,
    .apply = apply,
};

static int check_forward(const sbn_branch *branch)
{
    const int status = sbn__check_handle(branch->saved, SBN_HANDLE_SAVED, "saved");
    if (status)
        return status;
    if (branch->flags & ~(unsigned)SBN_KEEP_RUNNING_STATS)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "flags: expected SBN_KEEP_RUNNING_STATS or 0 in a forward pass, got 0x%x",
                         branch->flags);
    if (branch->saved->layer != branch->layer)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "saved: expected saved statistics of layer \"%s\", got another layer's",
                         branch->layer->name);
    if (branch->saved->used > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "saved: in use by passes under way (%d); end them first, or give another",
                         branch->saved->used);
    return sbn__saved_follow(branch->saved);
}

static const sbn_layer_pass_kind *choose(sbn_branch *branch, int *status)
{
    if (*status)
        return &training;
    *status = check_forward(branch);
    return sbn__is_fixed(branch->layer) ? &frozen : &training;
}

int sbn_forward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return sbn__pass_begin(choose, branches, count, pass);
}

int sbn_forward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    return sbn__pass_run(choose, branches, count, results);
}

int sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                      unsigned flags, sbn_pass **pass)
{
    const sbn_branch one = {sizeof one, layer, shards, saved, flags};
    return sbn_forward_branches_begin(&one, 1, pass);
}

int sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved, unsigned flags,
                sbn_result *result)
{
    const sbn_branch one = {sizeof one, layer, shards, saved, flags};
    return sbn_forward_branches(&one, 1, result);
}

/* The saved statistics are the layer's own `batch`. */
static const sbn_layer_pass_kind *choose_evaluation(sbn_branch *branch, int *status)
{
    sbn_batchnorm *layer = branch->layer;
    *status = layer->batch ? sbn__saved_follow(layer->batch)
                           : sbn_saved_create(layer, &layer->batch);
    branch->saved = layer->batch;
    return &evaluation;
}

int sbn__forward_evaluation(sbn_batchnorm *layer, const sbn_shard *shards)
{
    const sbn_branch one = {sizeof one, layer, shards, NULL, 0};
    return sbn__pass_run(choose_evaluation, &one, 1, NULL);
}
