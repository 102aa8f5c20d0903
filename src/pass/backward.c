#include "pass/backward.h"

#include "pass/apply.h"
#include "pass/pass.h"
#include "pass/reduce.h"
#include "pass/shard.h"
#include "pass/whole.h"

int sbn__backward_reduce(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica,
                         int format, const sbn_reduce_plan *plan, const sbn_wait *wait,
                         cl_event *event)
{
    const size_t r = replica->index;
    const sbn_shard *shard = &layer_pass->shards[r];
    sbn_channel_table *coefficients = &layer_pass->saved->table;
    const cl_ulong x_offset = shard->x.offset, dy_offset = shard->dy.offset;
    const sbn_shape *g = &chunk->shapes[r];
    enum { OWN_ARGUMENTS = 7 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(shard->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(g->x_gap),
        SBN_ARG(shard->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(g->dy_gap),
        SBN_ARG(coefficients->device[r].mem),
    };
    sbn_kernels *kernels = &replica->kernels[layer_pass->layer->type];
    sbn_wait all = *wait;
    int status = sbn__channel_table_wait(coefficients, replica, &all);
    if (!status)
        status = sbn__reduce_launch(chunk, replica, format,
                                    &kernels->backward_reduce[plan->reduction][format], arguments,
                                    OWN_ARGUMENTS, plan, &all, event);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *event);
    return status;
}

int sbn__backward_stores(const sbn_layer_pass *layer_pass, size_t replica)
{
    const sbn_shard *shard = &layer_pass->shards[replica];
    return layer_pass->layer->affine && (shard->weight_grad.mem || shard->bias_grad.mem);
}

int sbn__backward_has_dx(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk, size_t replica)
{
    return chunk->shapes[replica].elements > 0 && layer_pass->shards[replica].dx.mem;
}

static int launch(sbn_layer_pass *layer_pass, const sbn_chunk *chunk, sbn_replica *replica,
                  cl_event *event)
{
    const size_t r = replica->index;
    const sbn_shard *shard = &layer_pass->shards[r];
    const sbn_shape *g = &chunk->shapes[r];
    sbn_channel_table *coefficients = &layer_pass->saved->table,
                      *gradients = &layer_pass->gradients;
    const cl_ulong x_offset = shard->x.offset, dy_offset = shard->dy.offset;
    const cl_ulong dx_offset = shard->dx.offset, weight_offset = shard->weight.offset;
    const cl_uint affine = (cl_uint)layer_pass->layer->affine;
    const cl_mem weight = affine ? shard->weight.mem : coefficients->device[r].mem;
    enum { OWN_ARGUMENTS = 14 };
    sbn_argument arguments[OWN_ARGUMENTS + SBN_WALK_ARGUMENTS] = {
        SBN_ARG(shard->x.mem),
        SBN_ARG(x_offset),
        SBN_ARG(g->x_gap),
        SBN_ARG(shard->dy.mem),
        SBN_ARG(dy_offset),
        SBN_ARG(g->dy_gap),
        SBN_ARG(shard->dx.mem),
        SBN_ARG(dx_offset),
        SBN_ARG(g->dx_gap),
        SBN_ARG(coefficients->device[r].mem),
        SBN_ARG(gradients->device[r].mem),
        SBN_ARG(weight),
        SBN_ARG(weight_offset),
        SBN_ARG(affine),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn__wait_add(&wait, layer_pass->ready[r]);
    int status = sbn__channel_table_wait(coefficients, replica, &wait);
    if (!status)
        status = sbn__channel_table_wait(gradients, replica, &wait);
    if (!status)
        status = sbn__launch_apply(replica, replica->kernels[g->type].backward_apply, g, arguments,
                                   OWN_ARGUMENTS, &wait, event);
    if (!status)
        status = sbn__channel_table_touched(coefficients, replica, *event);
    if (!status)
        status = sbn__channel_table_touched(gradients, replica, *event);
    return status;
}

static int apply(sbn_layer_pass *layer_pass, const sbn_chunk *chunk, sbn_replica *replica)
{
    const size_t r = replica->index;
    const int applies = sbn__backward_has_dx(layer_pass, chunk, r);
    int status = SBN_SUCCESS;
    if (!layer_pass->on_device && (applies || sbn__backward_stores(layer_pass, r)))
        status = sbn__channel_table_write(&layer_pass->gradients, replica, chunk->first,
                                          chunk->channels);
    if (status || !applies)
        return status;
    sbn__release_event(&layer_pass->last[r]);
    return launch(layer_pass, chunk, replica, &layer_pass->last[r]);
}

/* Enqueued after the last command of step 3, so that its event covers all of them. */
int sbn__backward_store(sbn_layer_pass *layer_pass, sbn_replica *replica)
{
    const size_t r = replica->index;
    const sbn_shard *shard = &layer_pass->shards[r];
    sbn_channel_table *gradients = &layer_pass->gradients;
    const cl_mem table = gradients->device[r].mem;
    if (!sbn__backward_stores(layer_pass, r))
        return SBN_SUCCESS;
    /* A missing buffer is replaced by any other: the kernel does not access it. */
    const cl_uint has_weight = shard->weight_grad.mem != NULL,
                  has_bias = shard->bias_grad.mem != NULL;
    const cl_mem weight = has_weight ? shard->weight_grad.mem : table;
    const cl_mem bias = has_bias ? shard->bias_grad.mem : table;
    const cl_ulong weight_offset = shard->weight_grad.offset, bias_offset = shard->bias_grad.offset;
    const cl_uint accumulate = (layer_pass->flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    const sbn_argument arguments[] = {
        SBN_ARG(table), SBN_ARG(weight),      SBN_ARG(weight_offset), SBN_ARG(has_weight),
        SBN_ARG(bias),  SBN_ARG(bias_offset), SBN_ARG(has_bias),      SBN_ARG(accumulate),
    };
    sbn_wait wait = {{NULL}, 0};
    sbn__wait_add(&wait, layer_pass->ready[r]);
    sbn__wait_add(&wait, layer_pass->last[r]);
    int status = sbn__layer_pass_check_last(layer_pass, replica);
    if (!status)
        status = sbn__channel_table_wait(gradients, replica, &wait);
    if (status)
        return status;
    cl_event stored;
    status = sbn__launch(replica, &replica->sum_kernels.store_gradients, arguments,
                         sizeof arguments / sizeof *arguments, 1, &layer_pass->layer->channels,
                         &wait, &stored);
    if (status)
        return status;
    sbn__release_event(&layer_pass->last[r]);
    layer_pass->last[r] = stored;
    return sbn__channel_table_touched(gradients, replica, stored);
}

static const sbn_layer_pass_kind backward = {
    .operation = "backward",
    .code = SBN_CODE_BACKWARD,
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X,
    .least_count = 1,
    .format = sbn__backward_format,
    .reduce = sbn__backward_reduce,
    .finish = sbn__backward_finish,
    .write_coefficients = sbn__backward_write_coefficients,
    .apply = apply,
    .whole = sbn__whole_backward,
    .store = sbn__backward_store,
};

static int check_backward(const sbn_branch *branch)
{
    const int status = sbn__check_filled(branch->saved, branch->layer);
    if (status)
        return status;
    const unsigned known = SBN_ACCUMULATE_GRADIENTS | SBN_GLOBAL_GRADIENTS;
    if (branch->flags & ~known)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "flags: expected SBN_ACCUMULATE_GRADIENTS, SBN_GLOBAL_GRADIENTS, both or 0 in a "
            "backward pass, got 0x%x",
            branch->flags);
    return SBN_SUCCESS;
}

static const sbn_layer_pass_kind *choose(sbn_branch *branch, int *status)
{
    if (!*status)
        *status = check_backward(branch);
    return *status || !branch->saved->frozen ? &backward : sbn__frozen_kind(branch);
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
