#include "forward.h"

#include <string.h>

#include "apply.h"
#include "pass.h"
#include "reduce.h"
#include "share.h"

#define FORWARD_NEEDS (SBN_NEEDS_X | SBN_NEEDS_Y | SBN_NEEDS_WEIGHT | SBN_NEEDS_BIAS)

/* part->columns */
enum { MEAN, VAR, INVSTD };

static int reduce(sbn_part *part, sbn_piece *piece, sbn_replica *replica, int window,
                  const sbn_slices *slices, const sbn_wait *wait, cl_event *event)
{
    const sbn_share *share = &part->shares[replica->index];
    const sbn_geometry *g = &piece->geometries[replica->index];
    const cl_ulong x_offset = share->x.offset;
    sbn_argument arguments[2 + SBN_SLICE_ARGUMENTS] = {SBN_ARG(share->x.mem), SBN_ARG(x_offset)};
    return sbn_reduce_launch(piece, replica, &replica->kernels.forward_reduce[g->layout][window],
                             arguments, 2, slices, wait, event);
}

static int take(sbn_part *part, const sbn_piece *piece, const sbn_words *words)
{
    const size_t first = piece->first, channels = piece->channels;
    double *mean = part->columns[MEAN] + first, *var = part->columns[VAR] + first;
    double *invstd = part->columns[INVSTD] + first;
    unsigned char *repeat = part->repeat + first;
    const int wide = words->window->wide;
    sbn_moments_of(words, channels, wide ? repeat : NULL, part->count, mean, var);
    sbn_invstd_of(var, channels, part->layer->eps, invstd);
    return !wide && sbn_forward_needs_wide(words, channels, invstd, repeat);
}

/* The columns become what is saved. */
static void save(sbn_part *part)
{
    sbn_saved *saved = part->saved;
    const size_t bytes = sizeof(double) * part->layer->channels;
    saved->filled = 1;
    saved->frozen = part->kind->local;
    saved->pass = part->call.number;
    saved->place = part->place;
    saved->count = part->count;
    memcpy(saved->geometry, part->geometries, sizeof *saved->geometry * part->group->replica_count);
    memcpy(saved->mean, part->columns[MEAN], bytes);
    memcpy(saved->var, part->columns[VAR], bytes);
    memcpy(saved->invstd, part->columns[INVSTD], bytes);
}

/* An empty batch has had nothing to take. */
static void commit(sbn_part *part)
{
    const size_t channels = part->layer->channels;
    if (part->count == 0) {
        memset(part->columns[MEAN], 0, sizeof(double) * channels);
        memset(part->columns[VAR], 0, sizeof(double) * channels);
        sbn_invstd_of(part->columns[VAR], channels, part->layer->eps, part->columns[INVSTD]);
    }
    save(part);
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
    for (size_t c = 0; c < layer->channels; ++c) {
        part->columns[MEAN][c] = layer->running_mean[c];
        part->columns[VAR][c] = layer->running_var[c];
    }
    sbn_invstd_of(part->columns[VAR], layer->channels, layer->eps, part->columns[INVSTD]);
    save(part);
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

/* The table's host copy is shared by the replicas: filled once. */
static void fill(sbn_part *part, const sbn_piece *piece)
{
    if (part->group->replica_count > 0)
        sbn_fill_statistics(&part->saved->table, piece->first, piece->channels, part->columns[MEAN],
                            part->columns[INVSTD]);
}

static int apply(sbn_part *part, const sbn_piece *piece, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_table *table = &part->saved->table;
    if (piece->geometries[r].elements == 0)
        return SBN_SUCCESS;
    const int status = sbn_table_write(table, replica, piece->first, piece->channels);
    if (status)
        return status;
    sbn_release_event(&part->last[r]);
    return sbn_forward_launch(replica, part->layer, &part->shares[r], &piece->geometries[r], table,
                              part->ready[r], &part->last[r]);
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
    .fill = fill,
    .apply = apply,
    .commit = commit_training,
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
    .fill = fill,
    .apply = apply,
    .commit = commit,
};

static const sbn_part_kind frozen = {
    .operation = "forward",
    .code = SBN_CODE_FORWARD,
    .needs = FORWARD_NEEDS,
    .local = 1,
    .fills = 1,
    .fill = fill,
    .apply = apply,
    .commit = commit_frozen,
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
    return sbn_pass_begin(choose, branches, count, pass);
}

int sbn_forward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    return sbn_pass_run(choose, branches, count, results);
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
    return sbn_pass_run(choose_evaluation, &one, 1, NULL);
}
