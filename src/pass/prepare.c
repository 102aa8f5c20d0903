#include "pass/prepare.h"

#include "base/memory.h"
#include "device/host_memory.h"
#include "pass/steps.h"
#include "tensor/invertible.h"
#include "tensor/shard.h"

/* Fills the call, which names the layer pass in headers and sentences. */
static void describe(sbn_layer_pass *lp)
{
    const sbn_batchnorm *layer = lp->layer;
    const sbn_saved *read = lp->kind->fills ? NULL : lp->saved;
    lp->call = (sbn_call){
        .operation = lp->kind->operation,
        .name = layer ? layer->name : "",
        .code = lp->kind->code,
        .settings = layer ? &layer->settings : NULL,
        .flags = lp->flags & ~(unsigned)SBN_ACCUMULATE_GRADIENTS,
        .channels = layer ? (uint32_t)layer->channels : 0,
        .saved = read ? read->pass : 0,
        .saved_place = read ? read->place : 0,
    };
}

static int check_layer(const sbn_batchnorm *layer, const sbn_group *group)
{
    const int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status && layer->group != group)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "layer: expected one of the first layer's group, got layer \"%s\" of another",
            layer->name);
    return status;
}

int sbn__layer_pass_open(sbn_layer_pass *lp, sbn__choose *choose, sbn_branch branch)
{
    int status = check_layer(branch.layer, lp->group);
    lp->layer = status ? NULL : branch.layer;
    if (lp->layer)
        ++lp->layer->under_way;
    lp->kind = choose(&branch, &status);
    lp->flags = branch.flags;
    lp->given = branch.shards;
    lp->place = 0;
    if (!status) {
        lp->saved = branch.saved;
        ++lp->saved->used;
        lp->saved->filling = lp->kind->fills;
    }
    describe(lp);
    return status && lp->layer
               ? sbn__fail(status, "%s of layer \"%.48s\", rank %d: %s", lp->kind->operation,
                           lp->layer->name, sbn_group_rank(lp->group), sbn_last_error())
               : status;
}

void sbn__layer_pass_start(sbn_layer_pass *lp)
{
    lp->pending = lp->kind->reduce != NULL;
    lp->count = lp->own;
    lp->at = 0;
    lp->result = (sbn_result){.size = sizeof lp->result,
                              .synchronised = !lp->group->communicator.alone};
}

/* Makes the columns large enough. */
static int prepare_columns(sbn_layer_pass *lp)
{
    const size_t channels = lp->layer->channels;
    if (lp->channels_size >= channels)
        return SBN_SUCCESS;
    lp->channels_size = 0;
    sbn__free(lp->columns[0]);
    lp->columns[0] = sbn__allocate((sizeof(double) * SBN_COLUMNS + 1) * channels);
    if (!lp->columns[0])
        return sbn__fail_memory("the channels of a pass");
    for (int i = 1; i < SBN_COLUMNS; ++i)
        lp->columns[i] = lp->columns[i - 1] + channels;
    lp->wide = (unsigned char *)(lp->columns[0] + SBN_COLUMNS * channels);
    lp->channels_size = channels;
    return SBN_SUCCESS;
}

/* The host's rows only where it combines, which has waited for what reads them. */
static int prepare_gradients(sbn_layer_pass *lp)
{
    sbn_channel_table *table = &lp->gradients;
    int status = SBN_SUCCESS;
    table->channels = lp->layer->channels;
    const size_t size = sizeof(float) * table->rows * table->channels;
    for (size_t r = 0; r < table->replicas && !status; ++r) {
        sbn_replica *replica = &lp->group->replicas[r];
        status = sbn__reserve(replica, &table->copies[r].buffer, size);
        if (!status && !lp->steps->combine)
            status = sbn__staging_reserve(replica, &table->host[r], size);
    }
    return status;
}

/* A mask is not touched before the pass writes it: this one may still fail. */
static int prepare_masks(sbn_layer_pass *lp)
{
    const sbn_group *group = lp->group;
    int status = SBN_SUCCESS;
    if (!lp->kind->has_backward || !sbn__is_masked(lp->layer))
        return SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = sbn__mask_prepare(&lp->saved->masks[r], &group->replicas[r], &lp->shapes[r]);
    return status;
}

int sbn__layer_pass_prepare(sbn_layer_pass *lp, int devices, int at_once)
{
    const sbn_group *group = lp->group;
    const char *operation = lp->kind->operation;
    const unsigned needs = sbn__needs_of(lp->layer, lp->kind->needs);
    const sbn_buffer none = SBN_BUFFER_INIT;
    /* Others are not asked: a driver may have to do something to answer. */
    int status = lp->enqueued && lp->may_fail ? sbn__layer_pass_check_enqueued(lp) : SBN_SUCCESS;
    if (!status)
        status = prepare_columns(lp);
    if (!status)
        status = sbn__check_shards(lp->layer, lp->given, lp->kind->needs, operation, lp->shapes);
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        lp->shards[r] = sbn__shard_at(lp->given, r);
    if (!status && !lp->kind->fills)
        status = sbn__check_same_shapes(lp->saved, lp->shapes, operation);
    if (!status && lp->kind->has_backward && lp->layer->config.from_output)
        /* The columns are not in use yet. */
        status = sbn__check_invertible(lp->layer, lp->shards, lp->shapes, operation,
                                       (float *)lp->columns[0], (float *)lp->columns[1]);
    if (!status)
        status = prepare_masks(lp);
    lp->own = 0;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        lp->own += lp->shapes[r].values;
    lp->steps = sbn__steps_of(lp, devices, at_once);
    if (!status)
        status = lp->steps->prepare(lp);
    if (!status)
        status = prepare_gradients(lp);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        sbn_shard *shard = &lp->shards[r];
        /* What is not needed has not been checked: kernels must not see it. */
        if (!(needs & SBN_NEEDS_X))
            shard->x = needs & SBN_READS_Y ? shard->y : none;
        if (!(needs & SBN_NEEDS_BIAS))
            shard->bias = none;
        if (lp->kind->needs & SBN_MAY_TRACK && lp->flags & SBN_KEEP_RUNNING_STATS)
            shard->running_mean = shard->running_var = none;
        /* Before the layers' buffers are compared. */
        if (shard->memory == SBN_MEMORY_HOST)
            status = sbn__host_memory_try(&group->replicas[r]);
        if (!status)
            status = sbn__wait_list_marker(&group->replicas[r], shard->num_wait, shard->wait_list,
                                           &lp->work[r].ready);
    }
    if (!status)
        sbn__layer_pass_start(lp);
    return status;
}
