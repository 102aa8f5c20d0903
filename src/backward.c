#include "backward.h"

#include <string.h>

#include "apply.h"
#include "reduce.h"
#include "share.h"

/* pass->columns */
enum { DY, DY_XMU, OWN_DY, OWN_DY_XMU };

static int reduce(sbn_pass *pass, sbn_replica *replica, int window, const sbn_slices *slices,
                  const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &pass->shares[r];
    const sbn_geometry *g = &pass->geometries[r];
    sbn_table *statistics = &pass->saved->table;
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
        status = sbn_reduce_launch(pass, replica,
                                   &replica->kernels.backward_reduce[g->layout][window], arguments,
                                   5, slices, &all, event);
    if (!status)
        sbn_table_touched(statistics, r, *event);
    return status;
}

/* The host copy of a replica: free since the pass began. */
float *sbn_gradient_row(const sbn_pass *pass, size_t replica, int which)
{
    return sbn_table_rows(&pass->gradients, replica) + (size_t)which * pass->layer->channels;
}

/* A replica's weight_grad and bias_grad from sums over its own share or the group. */
static void put_gradients(const sbn_pass *pass, size_t replica, const unsigned char *only,
                          const double *dy, const double *dy_xmu)
{
    const double *invstd = pass->saved->invstd;
    float *weight = sbn_gradient_row(pass, replica, SBN_ROW_WEIGHT),
          *bias = sbn_gradient_row(pass, replica, SBN_ROW_BIAS);
    for (size_t c = 0; c < pass->layer->channels; ++c) {
        if (only && !only[c])
            continue;
        weight[c] = (float)(dy_xmu[c] * invstd[c]);
        bias[c] = (float)dy[c];
    }
}

static void put_own_gradients(const sbn_pass *pass, size_t replica, const unsigned char *only)
{
    const size_t channels = pass->layer->channels;
    double *dy = pass->columns[OWN_DY], *dy_xmu = pass->columns[OWN_DY_XMU];
    if (pass->geometries[replica].values > 0) {
        const sbn_words words = sbn_reduce_words(pass, replica);
        sbn_products_of(&words, channels, only, pass->saved->mean, dy, dy_xmu);
    } else {
        memset(dy, 0, sizeof(double) * channels);
        memset(dy_xmu, 0, sizeof(double) * channels);
    }
    put_gradients(pass, replica, only, dy, dy_xmu);
}

/* What dx needs, the same for all replicas. */
static void put_means(const sbn_pass *pass, const double *dy, const double *dy_xmu)
{
    const sbn_saved *saved = pass->saved;
    const size_t channels = pass->layer->channels;
    const double n = (double)pass->count;
    float *high = sbn_gradient_row(pass, 0, SBN_ROW_G),
          *low = sbn_gradient_row(pass, 0, SBN_ROW_G_LOW),
          *ks = sbn_gradient_row(pass, 0, SBN_ROW_K);
    for (size_t c = 0; c < channels; ++c) {
        const sbn_two_floats g = sbn_split(dy[c] / n);
        const double k = saved->invstd[c] * saved->invstd[c] * dy_xmu[c] / n;
        high[c] = g.high;
        low[c] = g.low;
        ks[c] = sbn_is_clamped(saved->var[c], pass->layer->eps) ? 0.0f : (float)k;
    }
    for (size_t r = 1; r < pass->group->replica_count; ++r)
        memcpy(sbn_gradient_row(pass, r, SBN_ROW_G), high,
               sizeof(float) * SBN_ROW_WEIGHT * channels);
}

static int take(sbn_pass *pass, const sbn_words *words)
{
    const sbn_saved *saved = pass->saved;
    const size_t channels = pass->layer->channels;
    const int wide = words->window->wide;
    const unsigned char *only = wide ? pass->repeat : NULL;
    double *dy = pass->columns[DY], *dy_xmu = pass->columns[DY_XMU];
    sbn_products_of(words, channels, only, saved->mean, dy, dy_xmu);
    if (pass->group->replica_count > 0)
        put_means(pass, dy, dy_xmu);
    /* A replica that is the whole group has the group's sums. */
    const int all = pass->flags & SBN_GLOBAL_GRADIENTS || !sbn_reduce_must_add(pass);
    for (size_t r = 0; r < pass->group->replica_count; ++r) {
        if (all)
            put_gradients(pass, r, only, dy, dy_xmu);
        else
            put_own_gradients(pass, r, only);
    }
    return !wide && sbn_backward_needs_wide(words, channels, saved->invstd, pass->repeat);
}

/* An empty batch has no gradient: zeros. Otherwise take has filled the rows. */
static void commit(sbn_pass *pass)
{
    if (pass->count == 0)
        for (size_t r = 0; r < pass->group->replica_count; ++r)
            memset(sbn_gradient_row(pass, r, SBN_ROW_G), 0,
                   sizeof(float) * SBN_ROWS * pass->layer->channels);
}

static int fill(sbn_pass *pass)
{
    (void)pass;
    return SBN_SUCCESS;
}

static int apply(sbn_pass *pass, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &pass->shares[r];
    const sbn_geometry *g = &pass->geometries[r];
    sbn_table *statistics = &pass->saved->table, *gradients = &pass->gradients;
    const cl_ulong x_offset = share->x.offset, dy_offset = share->dy.offset;
    const cl_ulong dx_offset = share->dx.offset, weight_offset = share->weight.offset;
    const cl_uint affine = (cl_uint)pass->layer->affine;
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
    sbn_wait_add(&wait, pass->work[r].ready);
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
static int store_gradients(sbn_pass *pass, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &pass->shares[r];
    sbn_table *gradients = &pass->gradients;
    const cl_mem table = gradients->device[r].mem;
    /* In the place of a buffer that is not wanted any will do: the kernel does not look. */
    const cl_uint has_weight = share->weight_grad.mem != NULL,
                  has_bias = share->bias_grad.mem != NULL;
    const cl_mem weight = has_weight ? share->weight_grad.mem : table;
    const cl_mem bias = has_bias ? share->bias_grad.mem : table;
    const cl_ulong from = (cl_ulong)SBN_ROW_WEIGHT * pass->layer->channels;
    const cl_ulong weight_offset = share->weight_grad.offset, bias_offset = share->bias_grad.offset;
    const cl_uint accumulate = (pass->flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    const sbn_argument arguments[] = {
        SBN_ARG(table),         SBN_ARG(from),       SBN_ARG(weight),
        SBN_ARG(weight_offset), SBN_ARG(has_weight), SBN_ARG(bias),
        SBN_ARG(bias_offset),   SBN_ARG(has_bias),   SBN_ARG(accumulate),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn_wait_add(&wait, pass->work[r].ready);
    int status = sbn_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn_launch(replica, &replica->kernels.store_gradients, arguments,
                            sizeof arguments / sizeof *arguments, 1, &pass->layer->channels, &wait,
                            event);
    if (!status)
        sbn_table_touched(gradients, r, *event);
    return status;
}

/* The commands touch one table, so they are chained and the last one's event stands for all. */
static int finish(sbn_pass *pass, sbn_replica *replica)
{
    const size_t r = replica->index;
    const sbn_share *share = &pass->shares[r];
    const int stores = pass->layer->affine && (share->weight_grad.mem || share->bias_grad.mem);
    const int applies = pass->geometries[r].elements > 0 && share->dx.mem;
    cl_event stored = NULL, last = NULL;
    int status = SBN_SUCCESS;
    if (stores || applies)
        status = sbn_table_write(&pass->gradients, replica, SBN_ROWS * pass->layer->channels);
    else if (share->event)
        status = sbn_marker(replica, share->num_wait, share->wait_list, &last);
    if (!status && stores)
        status = store_gradients(pass, replica, applies ? &stored : &last);
    if (!status && applies)
        status = pass->saved->frozen ? sbn_frozen_apply(pass, replica, &last)
                                     : apply(pass, replica, &last);
    sbn_release_event(&stored);
    if (!status)
        sbn_hand_over(share, last);
    else
        sbn_release_event(&last);
    return status;
}

static const sbn_pass_kind backward = {
    .operation = "backward",
    .code = 2,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = fill,
    .finish = finish,
};

/* With constant statistics only the gradients of weight and bias are sums: of the group, ... */
static const sbn_pass_kind frozen_global = {
    .operation = "frozen backward",
    .code = 4,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = reduce,
    .take = take,
    .commit = commit,
    .fill = sbn_frozen_fill,
    .finish = finish,
};

/* ... of each replica, ... */
static const sbn_pass_kind frozen_local = {
    .operation = "frozen backward",
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
static const sbn_pass_kind frozen_input = {
    .operation = "frozen backward",
    .local = 1,
    .commit = commit,
    .fill = sbn_frozen_fill,
    .finish = finish,
};

static int wants_gradients(const sbn_batchnorm *layer, const sbn_share *shares)
{
    for (size_t r = 0; layer->affine && shares && r < layer->group->replica_count; ++r)
        if (shares[r].weight_grad.mem || shares[r].bias_grad.mem)
            return 1;
    return 0;
}

static const sbn_pass_kind *kind_of(const sbn_batchnorm *layer, const sbn_share *shares,
                                    const sbn_saved *saved, unsigned flags)
{
    if (!saved->frozen)
        return &backward;
    if (flags & SBN_GLOBAL_GRADIENTS && layer->affine)
        return &frozen_global;
    return wants_gradients(layer, shares) ? &frozen_local : &frozen_input;
}

static int check_backward(const sbn_batchnorm *layer, const sbn_saved *saved, unsigned flags)
{
    const int status = sbn_check_filled(saved, layer);
    if (status)
        return status;
    const unsigned known = SBN_ACCUMULATE_GRADIENTS | SBN_GLOBAL_GRADIENTS;
    if (flags & ~known)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "flags: SBN_ACCUMULATE_GRADIENTS and SBN_GLOBAL_GRADIENTS were expected of a "
            "backward pass, 0x%x came",
            flags);
    return SBN_SUCCESS;
}

/* `result` is where the end will write, as far as it is known now. */
static int begin(sbn_batchnorm *layer, const sbn_share *shares, const sbn_saved *saved,
                 unsigned flags, const sbn_result *result, sbn_pass **pass)
{
    sbn_error_clear();
    int status = sbn_check_handle(layer, SBN_TAG_BATCHNORM, "layer");
    if (status)
        return status;
    if (!pass)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "pass: a place for the handle was expected, NULL came");
    *pass = NULL;
    status = check_backward(layer, saved, flags);
    if (!status)
        status = sbn_check_result(result);
    const sbn_pass_kind *kind = status ? &backward : kind_of(layer, shares, saved, flags);
    const unsigned needs = SBN_NEEDS_DY | SBN_MAY_DX | SBN_NEEDS_WEIGHT | SBN_MAY_GRADIENTS |
                           (kind == &frozen_input ? 0u : SBN_NEEDS_X);
    /* What was saved stays; use counts and the table's chain of events move on. */
    return sbn_pass_begin(kind, layer, shares, needs, (sbn_saved *)saved, flags, status, pass);
}

int sbn_backward_begin(sbn_batchnorm *layer, const sbn_share *shares, const sbn_saved *saved,
                       unsigned flags, sbn_pass **pass)
{
    return begin(layer, shares, saved, flags, NULL, pass);
}

int sbn_backward(sbn_batchnorm *layer, const sbn_share *shares, const sbn_saved *saved,
                 unsigned flags, sbn_result *result)
{
    sbn_pass *pass;
    const int status = begin(layer, shares, saved, flags, result, &pass);
    return status ? status : sbn_pass_end(pass, result);
}
