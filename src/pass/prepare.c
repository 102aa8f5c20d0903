#include "pass/prepare.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/invertible.h"
#include "tensor/shard.h"

/* Fills the call, which names the layer pass in headers and sentences. */
static void describe(sbn_layer_pass *layer_pass)
{
    const sbn_batchnorm *layer = layer_pass->layer;
    const sbn_saved *read = layer_pass->kind->fills ? NULL : layer_pass->saved;
    layer_pass->call = (sbn_call){
        .operation = layer_pass->kind->operation,
        .name = layer ? layer->name : "",
        .code = layer_pass->kind->code,
        .settings = layer ? &layer->settings : NULL,
        .flags = layer_pass->flags & ~(unsigned)SBN_ACCUMULATE_GRADIENTS,
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

int sbn__layer_pass_open(sbn_layer_pass *layer_pass, sbn__choose *choose, const sbn_branch *branch)
{
    sbn_branch call = *branch;
    int status = check_layer(call.layer, layer_pass->group);
    layer_pass->layer = status ? NULL : call.layer;
    if (layer_pass->layer)
        ++layer_pass->layer->under_way;
    layer_pass->kind = choose(&call, &status);
    layer_pass->flags = call.flags;
    layer_pass->place = 0;
    if (!status) {
        layer_pass->saved = call.saved;
        ++layer_pass->saved->used;
        layer_pass->saved->filling |= layer_pass->kind->fills;
    }
    describe(layer_pass);
    return status;
}

void sbn__layer_pass_start(sbn_layer_pass *layer_pass)
{
    layer_pass->pending = layer_pass->kind->reduce != NULL;
    layer_pass->count = layer_pass->own;
    layer_pass->result = (sbn_result){sizeof layer_pass->result, 0,
                                      !layer_pass->group->communicator.alone, 0};
    memset(layer_pass->repeat, 0, layer_pass->layer->channels);
}

static int prepare_channels(sbn_layer_pass *layer_pass)
{
    const size_t channels = layer_pass->layer->channels;
    const sbn_group *group = layer_pass->group;
    if (layer_pass->channels_size >= channels)
        return SBN_SUCCESS;
    layer_pass->channels_size = 0;
    sbn__free(layer_pass->repeat);
    layer_pass->repeat = sbn__allocate(channels);
    int made = layer_pass->repeat != NULL;
    for (int i = 0; i < SBN_COLUMNS; ++i) {
        sbn__free(layer_pass->columns[i]);
        layer_pass->columns[i] = sbn__allocate(sizeof(double) * channels);
        made = made && layer_pass->columns[i];
    }
    if (!made)
        return sbn__fail_memory("the channels of a pass");
    sbn__channel_table_destroy(&layer_pass->gradients);
    const int status = sbn__channel_table_create(&layer_pass->gradients, group->replicas,
                                                 group->replica_count, SBN_GRADIENT_ROWS, channels,
                                                 0);
    if (status == SBN_SUCCESS)
        layer_pass->channels_size = channels;
    return status;
}

/* Fails, once, if a command has failed that a pass enqueued in this memory and did not wait for. */
static int check_enqueued(sbn_layer_pass *layer_pass)
{
    const sbn_group *group = layer_pass->group;
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && layer_pass->enqueued; ++r) {
        cl_event *last = &layer_pass->work[r].last;
        cl_int state = CL_COMPLETE;
        const int asked = *last ? sbn__event_state(&group->replicas[r], *last, &state)
                                : SBN_SUCCESS;
        if (!asked && state >= 0)
            continue;
        if (!status)
            status = asked ? asked
                           : sbn__fail(state,
                                       "%s of layer \"%s\", which had only been enqueued, has "
                                       "failed on the device of replica %zu: %s",
                                       layer_pass->enqueued, layer_pass->enqueued_of, r,
                                       sbn_strerror(state));
        if (!asked)
            sbn__release_event(last);
    }
    return status;
}

/* Makes the working memory large enough. */
static int prepare_memory(sbn_layer_pass *layer_pass)
{
    const size_t replicas = layer_pass->group->replica_count;
    for (size_t r = 0; r < replicas; ++r) {
        sbn__release_event(&layer_pass->ready[r]);
        sbn__release_event(&layer_pass->last[r]);
    }
    int status = prepare_channels(layer_pass);
    layer_pass->gradients.channels = layer_pass->layer->channels;
    return status;
}

/* The host is to write tables, and to read running statistics or update them. */
static int prepare_host(sbn_layer_pass *layer_pass)
{
    const size_t replicas = layer_pass->group->replica_count;
    const sbn_batchnorm *layer = layer_pass->layer;
    float *host;
    sbn__work_wait(layer_pass->work, replicas);
    int status = check_enqueued(layer_pass);
    sbn__work_clear(layer_pass->work, replicas);
    layer_pass->enqueued = NULL;
    for (size_t r = 0; r < replicas && !status; ++r)
        status = sbn__channel_table_host(&layer_pass->gradients, r, &host);
    if (!status && layer_pass->kind->fills && replicas > 0)
        status = sbn__channel_table_host(&layer_pass->saved->table, 0, &host);
    if (!status && layer_pass->kind->fills && layer->tracks)
        status = sbn__running_read(layer->running, layer->group, layer->name);
    if (!status && !layer_pass->kind->fills && layer_pass->kind->reduce)
        status = sbn__saved_read(layer_pass->saved);
    return status;
}

/* A mask is not touched before the pass writes it: this one may still fail. */
static int prepare_masks(sbn_layer_pass *layer_pass)
{
    const sbn_group *group = layer_pass->group;
    int status = SBN_SUCCESS;
    if (!layer_pass->kind->has_backward || !sbn__is_masked(layer_pass->layer))
        return status;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = sbn__mask_prepare(&layer_pass->saved->masks[r], &group->replicas[r],
                                   &layer_pass->shapes[r]);
    return status;
}

int sbn__layer_pass_prepare(sbn_layer_pass *layer_pass, const sbn_shard *shards)
{
    const sbn_group *group = layer_pass->group;
    const char *operation = layer_pass->kind->operation;
    int status = check_enqueued(layer_pass);
    if (!status)
        status = prepare_memory(layer_pass);
    if (!status)
        status = sbn__check_shards(layer_pass->layer, shards, layer_pass->kind->needs, operation,
                                   layer_pass->shapes);
    if (!status && !layer_pass->kind->fills)
        status = sbn__check_same_shapes(layer_pass->saved, layer_pass->shapes, operation);
    if (!status && layer_pass->kind->has_backward && layer_pass->layer->from_output)
        /* The columns are not in use yet. */
        status = sbn__check_invertible(layer_pass->layer, shards, layer_pass->shapes, operation,
                                       (float *)layer_pass->columns[0],
                                       (float *)layer_pass->columns[1]);
    if (!status)
        status = prepare_masks(layer_pass);
    layer_pass->own = 0;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        layer_pass->own += layer_pass->shapes[r].values;
    /* No values: there is nothing to enqueue, and zeros come from the host. */
    layer_pass->on_device = layer_pass->on_device && layer_pass->own > 0;
    if (!status && !layer_pass->on_device)
        status = prepare_host(layer_pass);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        sbn_shard *shard = &layer_pass->shards[r];
        *shard = sbn__shard_at(shards, r);
        if (layer_pass->layer->from_output && !layer_pass->kind->fills)
            shard->x = shard->y;
        if (shard->num_wait > 0)
            status = sbn__marker(&group->replicas[r], shard->num_wait, shard->wait_list,
                                 &layer_pass->ready[r]);
    }
    if (status)
        return status;
    if (layer_pass->on_device) {
        layer_pass->enqueued = operation;
        snprintf(layer_pass->enqueued_of, sizeof layer_pass->enqueued_of, "%s",
                 layer_pass->layer->name);
    }
    sbn__layer_pass_start(layer_pass);
    return SBN_SUCCESS;
}
