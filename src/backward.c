#include "backward.h"

#include <string.h>

#include "apply.h"
#include "share.h"

static sbn_kernel *reduce_kernel(sbn_replica *replica, sbn_layout layout, int window)
{
    return &replica->kernels.backward_reduce[layout][window];
}

static int reduce(sbn_pass *pass, sbn_replica *replica, int window, const sbn_slices *slices,
                  const sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_share *share = &pass->shares[r];
    const sbn_geometry *g = &pass->geometries[r];
    const sbn_work *work = &pass->work[r];
    sbn_table *statistics = &pass->saved->table;
    const cl_ulong x_offset = share->x.offset, dy_offset = share->dy.offset;
    const cl_uint channels = (cl_uint)g->channels, plane = (cl_uint)g->plane;
    const cl_mem out = slices->count > 1 ? work->partial.mem : work->words.mem;
    const sbn_argument arguments[] = {
        SBN_ARG(share->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(share->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(statistics->device[r].mem),
        SBN_ARG(channels),
        SBN_ARG(plane),
        SBN_ARG(g->blocks),
        SBN_ARG(g->numbers),
        SBN_ARG(slices->per_slice),
        SBN_ARG(g->last_reciprocal),
        SBN_ARG(out),
    };
    sbn_wait all = *wait;
    int status = sbn_table_wait(statistics, replica, &all);
    if (!status)
        status = sbn_launch(replica, reduce_kernel(replica, g->layout, window), arguments,
                            sizeof arguments / sizeof *arguments, 2, slices->groups, &all, event);
    if (!status)
        sbn_table_touched(statistics, r, *event);
    return status;
}

float *sbn_gradient_row(const sbn_pass *pass, size_t replica, int which)
{
    return pass->gradients.host + replica * pass->gradients.floats +
           (size_t)which * pass->layer->channels;
}

static void put_gradients(const sbn_pass *pass, size_t replica, size_t c, sbn_products sums)
{
    sbn_gradient_row(pass, replica,
                     SBN_ROW_WEIGHT)[c] = (float)(sums.dy_xmu * pass->saved->invstd[c]);
    sbn_gradient_row(pass, replica, SBN_ROW_BIAS)[c] = (float)sums.dy;
}

/* A replica's own sums. Its words' flags are still a set of bits; an empty share has no words. */
static sbn_products own_products(const sbn_pass *pass, size_t replica, size_t c,
                                 const sbn_window *window, double mean_low)
{
    if (pass->geometries[replica].values == 0)
        return (sbn_products){0.0, 0.0};
    return sbn_products_of(sbn_channel_words(pass->work[replica].wire, window, c), window,
                           mean_low);
}

static int take(sbn_pass *pass, size_t c, int which)
{
    const sbn_window *window = sbn_backward_window(which);
    const sbn_saved *saved = pass->saved;
    const int64_t *words = sbn_channel_words(pass->wire, window, c);
    const double invstd = saved->invstd[c], n = (double)pass->count;
    /* What d = x - mean left out, in full: the kernels' mean_low has too few bits for a sum. */
    const double mean_low = saved->mean[c] - (double)sbn_split(saved->mean[c]).high;
    const sbn_products sums = sbn_products_of(words, window, mean_low);
    const sbn_two_floats g = sbn_split(sums.dy / n);
    const int clamped = sbn_is_clamped(saved->var[c], pass->layer->eps);
    const double k = clamped ? 0.0 : invstd * invstd * sums.dy_xmu / n;
    for (size_t r = 0; r < pass->group->replica_count; ++r) {
        sbn_gradient_row(pass, r, SBN_ROW_G)[c] = g.high;
        sbn_gradient_row(pass, r, SBN_ROW_G_LOW)[c] = g.low;
        sbn_gradient_row(pass, r, SBN_ROW_K)[c] = (float)k;
        put_gradients(pass, r, c,
                      pass->flags & SBN_GLOBAL_GRADIENTS
                          ? sums
                          : own_products(pass, r, c, window, mean_low));
    }
    return which == SBN_NARROW && sbn_backward_needs_wide(words, invstd);
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

/* weight_grad or bias_grad of a replica; nothing where it is not wanted. */
static int store_gradient(sbn_pass *pass, sbn_replica *replica, const sbn_buffer *out, int which,
                          cl_event *event)
{
    const size_t r = replica->index;
    if (!pass->layer->affine || !out->mem)
        return SBN_SUCCESS;
    sbn_table *gradients = &pass->gradients;
    const cl_ulong from = (cl_ulong)which * pass->layer->channels, to = out->offset;
    const cl_uint accumulate = (pass->flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    const sbn_argument arguments[] = {SBN_ARG(gradients->device[r].mem), SBN_ARG(from),
                                      SBN_ARG(out->mem), SBN_ARG(to), SBN_ARG(accumulate)};
    sbn_wait wait = {{NULL}, 0};
    sbn_wait_add(&wait, pass->work[r].ready);
    int status = sbn_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn_launch(replica, &replica->kernels.store_gradient, arguments, 5, 1,
                            &pass->layer->channels, &wait, event);
    if (!status)
        sbn_table_touched(gradients, r, *event);
    return status;
}

static int finish(sbn_pass *pass, sbn_replica *replica)
{
    const size_t r = replica->index;
    const sbn_share *share = &pass->shares[r];
    cl_event events[3] = {NULL, NULL, NULL};
    int status = sbn_table_write(&pass->gradients, replica, SBN_ROWS * pass->layer->channels);
    if (!status)
        status = store_gradient(pass, replica, &share->weight_grad, SBN_ROW_WEIGHT, &events[0]);
    if (!status)
        status = store_gradient(pass, replica, &share->bias_grad, SBN_ROW_BIAS, &events[1]);
    if (!status && pass->geometries[r].elements > 0 && share->dx.mem)
        status = pass->saved->frozen ? sbn_frozen_apply(pass, replica, &events[2])
                                     : apply(pass, replica, &events[2]);
    if (!status && share->event) {
        /* One event for all three, and for the caller's own list where there is none. */
        sbn_wait all = {{NULL}, 0};
        for (int i = 0; i < 3; ++i)
            sbn_wait_add(&all, events[i]);
        sbn_wait_add(&all, pass->work[r].ready);
        cl_event done = NULL;
        status = sbn_marker(replica, all.count, all.count ? all.events : NULL, &done);
        if (!status)
            sbn_hand_over(share, done);
    }
    for (int i = 0; i < 3; ++i)
        sbn_release_event(&events[i]);
    return status;
}

static const sbn_pass_kind backward = {
    .operation = "backward",
    .code = 2,
    .least_count = 1,
    .window = sbn_backward_window,
    .reduce = reduce,
    .kernel = reduce_kernel,
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
    .kernel = reduce_kernel,
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
    .kernel = reduce_kernel,
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
