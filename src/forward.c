#include "forward.h"

#include <string.h>

#include "apply.h"
#include "pass.h"
#include "reduce.h"
#include "share.h"

#define FORWARD_NEEDS (SBN_NEEDS_X | SBN_NEEDS_Y | SBN_NEEDS_WEIGHT | SBN_NEEDS_BIAS)

/* pass->columns */
enum { MEAN, VAR, INVSTD };

static int reduce(sbn_pass *pass, sbn_replica *replica, int window, const sbn_slices *slices,
                  const sbn_wait *wait, cl_event *event)
{
    const sbn_share *share = &pass->shares[replica->index];
    const sbn_geometry *g = &pass->geometries[replica->index];
    const cl_ulong x_offset = share->x.offset;
    sbn_argument arguments[2 + SBN_SLICE_ARGUMENTS] = {SBN_ARG(share->x.mem), SBN_ARG(x_offset)};
    return sbn_reduce_launch(pass, replica, &replica->kernels.forward_reduce[g->layout][window],
                             arguments, 2, slices, wait, event);
}

static int take(sbn_pass *pass, const sbn_words *words)
{
    const size_t channels = pass->layer->channels;
    double *mean = pass->columns[MEAN], *var = pass->columns[VAR], *invstd = pass->columns[INVSTD];
    const int wide = words->window->wide;
    sbn_moments_of(words, channels, wide ? pass->repeat : NULL, pass->count, mean, var);
    sbn_invstd_of(var, channels, pass->layer->eps, invstd);
    return !wide && sbn_forward_needs_wide(words, channels, invstd, pass->repeat);
}

static void commit(sbn_pass *pass)
{
    const sbn_batchnorm *layer = pass->layer;
    sbn_saved *saved = pass->saved;
    const size_t bytes = sizeof(double) * layer->channels;
    saved->filled = 1;
    saved->frozen = 0;
    saved->pass = pass->call.number;
    saved->count = pass->count;
    memcpy(saved->geometry, pass->geometries, sizeof *saved->geometry * pass->group->replica_count);
    if (pass->count > 0) {
        memcpy(saved->mean, pass->columns[MEAN], bytes);
        memcpy(saved->var, pass->columns[VAR], bytes);
        memcpy(saved->invstd, pass->columns[INVSTD], bytes);
    } else {
        memset(saved->mean, 0, bytes);
        memset(saved->var, 0, bytes);
        sbn_invstd_of(saved->var, layer->channels, layer->eps, saved->invstd);
    }
}

static void commit_training(sbn_pass *pass)
{
    commit(pass);
    if (pass->layer->tracks && pass->count > 0 && !(pass->flags & SBN_KEEP_RUNNING_STATS))
        sbn_batchnorm_track(pass->layer, pass->saved->mean, pass->saved->var, pass->count);
}

/* Nothing to combine: the running statistics become the pass's. */
static void commit_frozen(sbn_pass *pass)
{
    const sbn_batchnorm *layer = pass->layer;
    sbn_saved *saved = pass->saved;
    saved->filled = saved->frozen = 1;
    saved->pass = 0;
    saved->count = pass->count;
    memcpy(saved->geometry, pass->geometries, sizeof *saved->geometry * pass->group->replica_count);
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
static int fill(sbn_pass *pass)
{
    sbn_saved *saved = pass->saved;
    float *host;
    if (pass->group->replica_count == 0)
        return SBN_SUCCESS;
    const int status = sbn_table_host(&saved->table, 0, &host);
    if (!status)
        sbn_fill_statistics(host, pass->layer->channels, saved->mean, saved->invstd);
    return status;
}

static int finish(sbn_pass *pass, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_table *table = &pass->saved->table;
    int status = SBN_SUCCESS;
    if (pass->geometries[r].elements > 0)
        status = sbn_table_write(table, replica, table->floats);
    if (status)
        return status;
    return sbn_forward_apply(replica, pass->layer, &pass->shares[r], &pass->geometries[r], table,
                             pass->work[r].ready);
}

static const sbn_pass_kind training = {
    .operation = "forward",
    .code = SBN_CODE_FORWARD,
    .fills = 1,
    .least_count = 2,
    .window = sbn_forward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit_training,
    .fill = fill,
    .finish = finish,
};

static const sbn_pass_kind evaluation = {
    .operation = "evaluation",
    .code = SBN_CODE_EVALUATION,
    .fills = 1,
    .least_count = 1,
    .window = sbn_forward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = fill,
    .finish = finish,
};

static const sbn_pass_kind frozen = {
    .operation = "forward",
    .local = 1,
    .fills = 1,
    .commit = commit_frozen,
    .fill = fill,
    .finish = finish,
};

static int check_forward(const sbn_batchnorm *layer, sbn_saved *saved, unsigned flags)
{
    const int status = sbn_check_handle(saved, SBN_TAG_SAVED, "saved");
    if (status)
        return status;
    if (flags & ~(unsigned)SBN_KEEP_RUNNING_STATS)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "flags: SBN_KEEP_RUNNING_STATS or 0 was expected of a forward pass, 0x%x came", flags);
    if (saved->layer != layer)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "saved: saved statistics of layer \"%s\" were expected, another layer's came",
            layer->name);
    if (saved->used > 0)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "saved: it is used by %d passes under way; end them first, or give another",
                        saved->used);
    return sbn_saved_follow(saved);
}

/* `result` is where the end will write, as far as it is known now. */
static int begin(sbn_batchnorm *layer, const sbn_share *shares, sbn_saved *saved, unsigned flags,
                 const sbn_result *result, sbn_pass **pass)
{
    sbn_error_clear();
    int status = sbn_check_handle(layer, SBN_TAG_BATCHNORM, "layer");
    if (status)
        return status;
    if (!pass)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "pass: a place for the handle was expected, NULL came");
    *pass = NULL;
    status = check_forward(layer, saved, flags);
    if (!status)
        status = sbn_check_result(result);
    return sbn_pass_begin(sbn_is_fixed(layer) ? &frozen : &training, layer, shares, FORWARD_NEEDS,
                          saved, flags, status, pass);
}

int sbn_forward_begin(sbn_batchnorm *layer, const sbn_share *shares, sbn_saved *saved,
                      unsigned flags, sbn_pass **pass)
{
    return begin(layer, shares, saved, flags, NULL, pass);
}

int sbn_forward(sbn_batchnorm *layer, const sbn_share *shares, sbn_saved *saved, unsigned flags,
                sbn_result *result)
{
    sbn_pass *pass;
    const int status = begin(layer, shares, saved, flags, result, &pass);
    return status ? status : sbn_pass_end(pass, result);
}

int sbn_forward_evaluation(sbn_batchnorm *layer, const sbn_share *shares)
{
    sbn_pass *pass;
    int status = layer->batch ? sbn_saved_follow(layer->batch)
                              : sbn_saved_create(layer, &layer->batch);
    status = sbn_pass_begin(&evaluation, layer, shares, FORWARD_NEEDS, layer->batch, 0, status,
                            &pass);
    return status ? status : sbn_pass_end(pass, NULL);
}
