#include "backward.h"

#include <string.h>

#include "apply.h"
#include "reduce.h"
#include "share.h"

#define WITHOUT_X (SBN_NEEDS_DY | SBN_MAY_DX | SBN_NEEDS_WEIGHT | SBN_MAY_GRADIENTS)
#define WITH_X (WITHOUT_X | SBN_NEEDS_X)

/* part->columns */
enum { DY, DY_XMU, OWN_DY, OWN_DY_XMU };

static int reduce(sbn_part *part, sbn_replica *replica, int window, const sbn_slices *slices,
                  const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    const sbn_geometry *g = &part->geometries[r];
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
        status = sbn_reduce_launch(part, replica,
                                   &replica->kernels.backward_reduce[g->layout][window], arguments,
                                   5, slices, &all, event);
    if (!status)
        sbn_table_touched(statistics, r, *event);
    return status;
}

/* The host copy of a replica: free since the pass began. */
float *sbn_gradient_row(const sbn_part *part, size_t replica, int which)
{
    return sbn_table_rows(&part->gradients, replica) + (size_t)which * part->layer->channels;
}

/* A replica's weight_grad and bias_grad from sums over its own share or the group. */
static void put_gradients(const sbn_part *part, size_t replica, const unsigned char *only,
                          const double *dy, const double *dy_xmu)
{
    const double *invstd = part->saved->invstd;
    float *weight = sbn_gradient_row(part, replica, SBN_ROW_WEIGHT),
          *bias = sbn_gradient_row(part, replica, SBN_ROW_BIAS);
    for (size_t c = 0; c < part->layer->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

static void put_own_gradients(const sbn_part *part, size_t replica, const sbn_window *window,
                              const unsigned char *only)
{
    const size_t channels = part->layer->channels;
    double *dy = part->columns[OWN_DY], *dy_xmu = part->columns[OWN_DY_XMU];
    if (part->geometries[replica].values > 0) {
        const sbn_words words = sbn_reduce_words(part, replica, window);
        sbn_products_of(&words, channels, only, part->saved->mean, dy, dy_xmu);
    } else {
        memset(dy, 0, sizeof(double) * channels);
        memset(dy_xmu, 0, sizeof(double) * channels);
    }
    put_gradients(part, replica, only, dy, dy_xmu);
}

/* What dx needs, the same for all replicas. */
static void put_means(const sbn_part *part, const double *dy, const double *dy_xmu)
{
    const sbn_saved *saved = part->saved;
    const size_t channels = part->layer->channels;
    const double n = (double)part->count;
    float *high = sbn_gradient_row(part, 0, SBN_ROW_G),
          *low = sbn_gradient_row(part, 0, SBN_ROW_G_LOW),
          *ks = sbn_gradient_row(part, 0, SBN_ROW_K);
    for (size_t c = 0; c < channels; ++c) {
        const sbn_two_floats g = sbn_split(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        ks[c] = sbn_is_clamped(saved->var[c], part->layer->eps) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < part->group->replica_count; ++r)
        memcpy(sbn_gradient_row(part, r, SBN_ROW_G), high,
               sizeof(float) * SBN_ROW_WEIGHT * channels);
}

static int take(sbn_part *part, const sbn_words *words)
{
    const sbn_saved *saved = part->saved;
    const size_t channels = part->layer->channels;
    const int wide = words->window->wide;
    const unsigned char *only = wide ? part->repeat : NULL;
    double *dy = part->columns[DY], *dy_xmu = part->columns[DY_XMU];
    sbn_products_of(words, channels, only, saved->mean, dy, dy_xmu);
    if (part->group->replica_count > 0)
        put_means(part, dy, dy_xmu);
    /* A replica that is the whole group has the group's sums. */
    const int all = part->flags & SBN_GLOBAL_GRADIENTS || !sbn_reduce_must_add(part);
    for (size_t r = 0; r < part->group->replica_count; ++r) {
        if (all)
            put_gradients(part, r, only, dy, dy_xmu);
        else
            put_own_gradients(part, r, words->window, only);
    }
    return !wide && sbn_backward_needs_wide(words, channels, saved->invstd, part->repeat);
}

/* An empty batch has no gradient: zeros. Otherwise take has filled the rows. */
static void commit(sbn_part *part)
{
    if (part->count == 0)
        for (size_t r = 0; r < part->group->replica_count; ++r)
            memset(sbn_gradient_row(part, r, SBN_ROW_G), 0,
                   sizeof(float) * SBN_ROWS * part->layer->channels);
}

static int fill(sbn_part *part)
{
    (void)part;
    return SBN_SUCCESS;
}

static int apply(sbn_part *part, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    const sbn_geometry *g = &part->geometries[r];
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
    sbn_wait_add(&wait, part->work[r].ready);
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

/* weight_grad and bias_grad of a replica, as far as they are wanted. */
static int store_gradients(sbn_part *part, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    sbn_table *gradients = &part->gradients;
    const cl_mem table = gradients->device[r].mem;
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
    sbn_wait_add(&wait, part->work[r].ready);
    int status = sbn_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn_launch(replica, &replica->kernels.store_gradients, arguments,
                            sizeof arguments / sizeof *arguments, 1, &part->layer->channels, &wait,
                            event);
    if (!status)
        sbn_table_touched(gradients, r, *event);
    return status;
}

/* The commands touch one table, so they are chained and the last one's event stands for all. */
static int finish(sbn_part *part, sbn_replica *replica)
{
    const size_t r = replica->index;
    const sbn_share *share = &part->shares[r];
    const int stores = part->layer->affine && (share->weight_grad.mem || share->bias_grad.mem);
    const int applies = part->geometries[r].elements > 0 && share->dx.mem;
    cl_event stored = NULL, last = NULL;
    int status = SBN_SUCCESS;
    if (stores || applies)
        status = sbn_table_write(&part->gradients, replica, SBN_ROWS * part->layer->channels);
    else if (share->event)
        status = sbn_marker(replica, share->num_wait, share->wait_list, &last);
    if (!status && stores)
        status = store_gradients(part, replica, applies ? &stored : &last);
    if (!status && applies)
        status = part->saved->frozen ? sbn_frozen_apply(part, replica, &last)
                                     : apply(part, replica, &last);
    sbn_release_event(&stored);
    if (!status)
        sbn_hand_over(share, last);
    else
        sbn_release_event(&last);
    return status;
}

static const sbn_part_kind backward = {
    .operation = "backward",
    .code = SBN_CODE_BACKWARD,
    .needs = WITH_X,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = fill,
    .finish = finish,
};

/* With constant statistics only the gradients of weight and bias are sums: of the group, ... */
static const sbn_part_kind frozen_global = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = WITH_X,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = sbn_frozen_fill,
    .finish = finish,
};

/* ... of each replica, ... */
static const sbn_part_kind frozen_local = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = WITH_X,
    .local = 1,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = sbn_frozen_fill,
    .finish = finish,
};

/* ... or not wanted. */
static const sbn_part_kind frozen_input = {
    .operation = "frozen backward",
    .code = SBN_CODE_FROZEN_BACKWARD,
    .needs = WITHOUT_X,
    .local = 1,
    .commit = commit,
    .fill = sbn_frozen_fill,
    .finish = finish,
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
    if (*status || !branch->saved->frozen)
        return &backward;
    if (branch->flags & SBN_GLOBAL_GRADIENTS && branch->layer->affine)
        return &frozen_global;
    return wants_gradients(branch) ? &frozen_local : &frozen_input;
}

int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return sbn_pass_begin(choose, branches, count, NULL, pass);
}

int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    sbn_pass *pass;
    const int status = sbn_pass_begin(choose, branches, count, results, &pass);
    return status ? status : sbn_pass_end(pass, results);
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
