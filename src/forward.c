#include "forward.h"

#include <string.h>

#include "apply.h"
#include "pass.h"
#include "reduce.h"
#include "share.h"

#define FORWARD_NEEDS (SBN_NEEDS_X | SBN_NEEDS_Y | SBN_NEEDS_WEIGHT | SBN_NEEDS_BIAS)

/* part->columns */
enum { MEAN, VAR, INVSTD };

static int reduce(sbn_part *part, sbn_replica *replica, int window, const sbn_slices *slices,
                  const sbn_wait *wait, cl_event *event)
{
    const sbn_share *share = &part->shares[replica->index];
    const sbn_geometry *g = &part->geometries[replica->index];
    const cl_ulong x_offset = share->x.offset;
    sbn_argument arguments[2 + SBN_SLICE_ARGUMENTS] = {SBN_ARG(share->x.mem), SBN_ARG(x_offset)};
    return sbn_reduce_launch(part, replica, &replica->kernels.forward_reduce[g->layout][window],
                             arguments, 2, slices, wait, event);
}

static int take(sbn_part *part, const sbn_words *words)
{
    const size_t channels = part->layer->channels;
    double *mean = part->columns[MEAN], *var = part->columns[VAR], *invstd = part->columns[INVSTD];
    const int wide = words->window->wide;
    sbn_moments_of(words, channels, wide ? part->repeat : NULL, part->count, mean, var);
    sbn_invstd_of(var, channels, part->layer->eps, invstd);
    return !wide && sbn_forward_needs_wide(words, channels, invstd, part->repeat);
}

static void commit(sbn_part *part)
{
    const sbn_batchnorm *layer = part->layer;
    sbn_saved *saved = part->saved;
    const size_t bytes = sizeof(double) * layer->channels;
    saved->filled = 1;
    saved->frozen = 0;
    saved->pass = part->call.number;
    saved->place = part->place;
    saved->count = part->count;
    memcpy(saved->geometry, part->geometries, sizeof *saved->geometry * part->group->replica_count);
    if (part->count > 0) {
        memcpy(saved->mean, part->columns[MEAN], bytes);
        memcpy(saved->var, part->columns[VAR], bytes);
        memcpy(saved->invstd, part->columns[INVSTD], bytes);
    } else {
        memset(saved->mean, 0, bytes);
        memset(saved->var, 0, bytes);
        sbn_invstd_of(saved->var, layer->channels, layer->eps, saved->invstd);
    }
}

static void commit_training(sbn_part *part)
{
    commit(part);
    if (part->layer->tracks && part->count > 0 && !(part->flags & SBN_KEEP_RUNNING_STATS))
        sbn_batchnorm_track(part->layer, part->saved->mean, part->saved->var, part->count);
}

/* Nothing to combine: the running statistics become the pass's. */
static void commit_frozen(sbn_part *part)
{
    const sbn_batchnorm *layer = part->layer;
    sbn_saved *saved = part->saved;
    saved->filled = saved->frozen = 1;
    saved->pass = saved->place = 0;
    saved->count = part->count;
    memcpy(saved->geometry, part->geometries, sizeof *saved->geometry * part->group->replica_count);
    for (size_t c = 0; c < layer->channels; ++c) {
        saved->mean[c] = layer->running_mean[c];
        saved->var[c] = layer->running_var[c];
        saved->invstd[c] = sbn_invstd(saved->var[c], layer->eps);
    }
}

int sbn_forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_share *share,
                       const sbn_geometry *g, sbn_table *statistics, cl_event ready,
                       cl_event *applied)
{
    const size_t r = replica->index;
    const cl_ulong x_offset = share->x.offset, y_offset = share->y.offset;
    const cl_ulong weight_offset = share->weight.offset, bias_offset = share->bias.offset;
    const cl_uint affine = (cl_uint)layer->affine;
    const cl_mem table = statistics->device[r].mem;
    /* Without an affine part any buffer will do: the kernel does not look. */
    const cl_mem weight = affine ? share->weight.mem : table;
    const cl_mem bias = affine ? share->bias.mem : table;
    sbn_argument arguments[10 + SBN_WALK_ARGUMENTS] = {
        SBN_ARG(share->x.mem), SBN_ARG(x_offset), SBN_ARG(share->y.mem),  SBN_ARG(y_offset),
        SBN_ARG(table),        SBN_ARG(weight),   SBN_ARG(weight_offset), SBN_ARG(bias),
        SBN_ARG(bias_offset),  SBN_ARG(affine),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn_wait_add(&wait, ready);
    int status = sbn_table_wait(statistics, replica, &wait);
    if (!status)
        status = sbn_launch_apply(replica, replica->kernels.forward_apply, g, arguments, 10, &wait,
                                  applied);
    if (!status)
        sbn_table_touched(statistics, r, *applied);
    return status;
}

int sbn_forward_apply(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_share *share,
                      const sbn_geometry *g, sbn_table *statistics, cl_event ready)
{
    cl_event applied = NULL;
    int status = SBN_SUCCESS;
    if (g->elements > 0)
        status = sbn_forward_launch(replica, layer, share, g, statistics, ready, &applied);
    else if (share->event)
        status = sbn_marker(replica, share->num_wait, share->wait_list, &applied);
    if (!status)
        sbn_hand_over(share, applied);
    return status;
}

/* The table's host copy is shared by the replicas: filled once. */
static int fill(sbn_part *part)
{
    sbn_saved *saved = part->saved;
    float *host;
    if (part->group->replica_count == 0)
        return SBN_SUCCESS;
    const int status = sbn_table_host(&saved->table, 0, &host);
    if (!status)
        sbn_fill_statistics(host, part->layer->channels, saved->mean, saved->invstd);
    return status;
}

static int finish(sbn_part *part, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_table *table = &part->saved->table;
    int status = SBN_SUCCESS;
    if (part->geometries[r].elements > 0)
        status = sbn_table_write(table, replica, table->floats);
    if (status)
        return status;
    return sbn_forward_apply(replica, part->layer, &part->shares[r], &part->geometries[r], table,
                             part->work[r].ready);
}

static const sbn_part_kind training = {
    .operation = "forward",
    .code = SBN_CODE_FORWARD,
    .needs = FORWARD_NEEDS,
    .fills = 1,
    .least_count = 2,
    .window = sbn_forward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit_training,
    .fill = fill,
    .finish = finish,
};

static const sbn_part_kind evaluation = {
    .operation = "evaluation",
    .code = SBN_CODE_EVALUATION,
    .needs = FORWARD_NEEDS,
    .fills = 1,
    .least_count = 1,
    .window = sbn_forward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = fill,
    .finish = finish,
};

static const sbn_part_kind frozen = {
    .operation = "forward",
    .code = SBN_CODE_FORWARD,
    .needs = FORWARD_NEEDS,
    .local = 1,
    .fills = 1,
    .commit = commit_frozen,
    .fill = fill,
    .finish = finish,
};

static int check_forward(const sbn_branch *branch)
{
    const int status = sbn_check_handle(branch->saved, SBN_TAG_SAVED, "saved");
    if (status)
        return status;
    if (branch->flags & ~(unsigned)SBN_KEEP_RUNNING_STATS)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "flags: SBN_KEEP_RUNNING_STATS or 0 was expected of a forward pass, 0x%x came",
            branch->flags);
    if (branch->saved->layer != branch->layer)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "saved: saved statistics of layer \"%s\" were expected, another layer's came",
            branch->layer->name);
    if (branch->saved->used > 0)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "saved: it is used by %d passes under way; end them first, or give another",
                        branch->saved->used);
    return sbn_saved_follow(branch->saved);
}

static const sbn_part_kind *choose(sbn_branch *branch, int *status)
{
    if (*status)
        return &training;
    *status = check_forward(branch);
    return sbn_is_fixed(branch->layer) ? &frozen : &training;
}

int sbn_forward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return sbn_pass_begin(choose, branches, count, NULL, pass);
}

int sbn_forward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    sbn_pass *pass;
    const int status = sbn_pass_begin(choose, branches, count, results, &pass);
    return status ? status : sbn_pass_end(pass, results);
}

int sbn_forward_begin(sbn_batchnorm *layer, const sbn_share *shares, sbn_saved *saved,
                      unsigned flags, sbn_pass **pass)
{
    const sbn_branch one = {layer, shares, saved, flags};
    return sbn_forward_branches_begin(&one, 1, pass);
}

int sbn_forward(sbn_batchnorm *layer, const sbn_share *shares, sbn_saved *saved, unsigned flags,
                sbn_result *result)
{
    const sbn_branch one = {layer, shares, saved, flags};
    return sbn_forward_branches(&one, 1, result);
}

/* Its saved statistics are the layer's own. */
static const sbn_part_kind *choose_evaluation(sbn_branch *branch, int *status)
{
    sbn_batchnorm *layer = branch->layer;
    *status = layer->batch ? sbn_saved_follow(layer->batch)
                           : sbn_saved_create(layer, &layer->batch);
    branch->saved = layer->batch;
    return &evaluation;
}

int sbn_forward_evaluation(sbn_batchnorm *layer, const sbn_share *shares)
{
    const sbn_branch one = {layer, shares, NULL, 0};
    sbn_pass *pass;
    const int status = sbn_pass_begin(choose_evaluation, &one, 1, NULL, &pass);
    return status ? status : sbn_pass_end(pass, NULL);
}
