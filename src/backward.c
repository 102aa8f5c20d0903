#include "backward.h"

#include "apply.h"
#include "reduce.h"
#include "share.h"

int sbn_backward_reduce(sbn_part *part, sbn_piece *piece, sbn_replica *replica, int window,
                        const sbn_slices *slices, const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    const sbn_geometry *g = &piece->geometries[r];
    sbn_table *statistics = &part->saved->table;
    const cl_ulong x_offset = share->x.offset, dy_offset = share->dy.offset;
    sbn_argument arguments[5 + SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(share->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(share->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(statistics->device[r].mem),
    };
    sbn_wait all = *wait;
    int status = sbn_table_wait(statistics, replica, &all);
    if (!status)
        status = sbn_reduce_launch(piece, replica,
                                   &replica->kernels.backward_reduce[g->layout][window], arguments,
                                   5, slices, &all, event);
    if (!status)
        sbn_table_touched(statistics, r, *event);
    return status;
}

static int stores(const sbn_part *part, const sbn_share *share)
{
    return part->layer->affine && (share->weight_grad.mem || share->bias_grad.mem);
}

int sbn_backward_write(sbn_part *part, const sbn_piece *piece, sbn_replica *replica, int *applies)
{
    const sbn_share *share = &part->shares[replica->index];
    *applies = piece->geometries[replica->index].elements > 0 && share->dx.mem;
    if (!*applies && !stores(part, share))
        return SBN_SUCCESS;
    return sbn_table_write(&part->gradients, replica, piece->first, piece->channels);
}

static int launch(sbn_part *part, const sbn_piece *piece, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    const sbn_geometry *g = &piece->geometries[r];
    sbn_table *statistics = &part->saved->table, *gradients = &part->gradients;
    const cl_ulong x_offset = share->x.offset, dy_offset = share->dy.offset;
    const cl_ulong dx_offset = share->dx.offset, weight_offset = share->weight.offset;
    const cl_uint affine = (cl_uint)part->layer->affine;
    const cl_mem weight = affine ? share->weight.mem : statistics->device[r].mem;
    sbn_argument arguments[11 + SBN_WALK_ARGUMENTS] = {
        SBN_ARG(share->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(share->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(share->dx.mem),
        SBN_ARG(dx_offset),
        SBN_ARG(statistics->device[r].mem),
        SBN_ARG(gradients->device[r].mem),
        SBN_ARG(weight),
        SBN_ARG(weight_offset),
        SBN_ARG(affine),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn_wait_add(&wait, part->ready[r]);
    int status = sbn_table_wait(statistics, replica, &wait);
    if (!status)
        status = sbn_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn_launch_apply(replica, replica->kernels.backward_apply, g, arguments, 11, &wait,
                                  event);
    if (!status) {
        sbn_table_touched(statistics, r, *event);
        sbn_table_touched(gradients, r, *event);
    }
    return status;
}

static int apply(sbn_part *part, const sbn_piece *piece, sbn_replica *replica)
{
    cl_event *last = &part->last[replica->index];
    int applies;
    const int status = sbn_backward_write(part, piece, replica, &applies);
    if (status || !applies)
        return status;
    sbn_release_event(last);
    return launch(part, piece, replica, last);
}

/* The last command that touches the gradients' table: its event stands for all. */
int sbn_backward_store(sbn_part *part, sbn_replica *replica)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    sbn_table *gradients = &part->gradients;
    const cl_mem table = gradients->device[r].mem;
    if (!stores(part, share))
        return SBN_SUCCESS;
    /* In the place of a buffer that is not wanted any will do: the kernel does not look. */
    const cl_uint has_weight = share->weight_grad.mem != NULL,
                  has_bias = share->bias_grad.mem != NULL;
    const cl_mem weight = has_weight ? share->weight_grad.mem : table;
    const cl_mem bias = has_bias ? share->bias_grad.mem : table;
    const cl_ulong from = (cl_ulong)SBN_ROW_WEIGHT * part->layer->channels;
    const cl_ulong weight_offset = share->weight_grad.offset, bias_offset = share->bias_grad.offset;
    const cl_uint accumulate = (part->flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    const sbn_argument arguments[] = {
        SBN_ARG(table),         SBN_ARG(from),       SBN_ARG(weight),
        SBN_ARG(weight_offset), SBN_ARG(has_weight), SBN_ARG(bias),
        SBN_ARG(bias_offset),   SBN_ARG(has_bias),   SBN_ARG(accumulate),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn_wait_add(&wait, part->ready[r]);
    int status = sbn_part_check_last(part, replica);
    if (!status)
        status = sbn_table_wait(gradients, replica, &wait);
    if (status)
        return status;
    sbn_release_event(&part->last[r]);
    status = sbn_launch(replica, &replica->kernels.store_gradients, arguments,
                        sizeof arguments / sizeof *arguments, 1, &part->layer->channels, &wait,
                        &part->last[r]);
    if (!status)
        sbn_table_touched(gradients, r, part->last[r]);
    return status;
}

static const sbn_part_kind backward = {
    .operation = "backward",
    .code = SBN_CODE_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = sbn_backward_reduce,
    .take = sbn_backward_take,
    .fill = sbn_backward_fill,
    .apply = apply,
    .store = sbn_backward_store,
};

static int check_backward(const sbn_branch *branch)
{
    const int status = sbn_check_filled(branch->saved, branch->layer);
    if (status)
        return status;
    const unsigned known = SBN_ACCUMULATE_GRADIENTS | SBN_GLOBAL_GRADIENTS;
    if (branch->flags & ~known)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "flags: SBN_ACCUMULATE_GRADIENTS and SBN_GLOBAL_GRADIENTS were expected of a "
            "backward pass, 0x%x came",
            branch->flags);
    return SBN_SUCCESS;
}

static const sbn_part_kind *choose(sbn_branch *branch, int *status)
{
    if (!*status)
        *status = check_backward(branch);
    return *status || !branch->saved->frozen ? &backward : sbn_frozen_kind(branch);
}

int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return sbn_pass_begin(choose, branches, count, pass);
}

int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    return sbn_pass_run(choose, branches, count, results);
}

/* What was saved stays; its count of uses and its table's chain of events move on. */
static sbn_branch one_branch(sbn_batchnorm *layer, const sbn_share *shares, const sbn_saved *saved,
                             unsigned flags)
{
    return (sbn_branch){layer, shares, (sbn_saved *)saved, flags};
}

int sbn_backward_begin(sbn_batchnorm *layer, const sbn_share *shares, const sbn_saved *saved,
                       unsigned flags, sbn_pass **pass)
{
    const sbn_branch one = one_branch(layer, shares, saved, flags);
    return sbn_backward_branches_begin(&one, 1, pass);
}

int sbn_backward(sbn_batchnorm *layer, const sbn_share *shares, const sbn_saved *saved,
                 unsigned flags, sbn_result *result)
{
    const sbn_branch one = one_branch(layer, shares, saved, flags);
    return sbn_backward_branches(&one, 1, result);
}
