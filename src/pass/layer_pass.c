#include "pass/layer_pass.h"

#include "base/memory.h"
#include "pass/shard.h"

int sbn__layer_pass_is_joined(const sbn_layer_pass *layer_pass)
{
    return !layer_pass->kind->local &&
           sbn__communicator_is_joined(&layer_pass->group->communicator);
}

int sbn__layer_pass_has_peers(const sbn_layer_pass *layer_pass)
{
    return sbn__layer_pass_is_joined(layer_pass) || layer_pass->group->replica_count > 1;
}

void sbn__layer_pass_destroy(sbn_layer_pass *layer_pass)
{
    const size_t replicas = layer_pass->group->replica_count;
    if (layer_pass->work)
        sbn__work_close(layer_pass->work, replicas);
    for (size_t r = 0; r < replicas; ++r) {
        if (layer_pass->ready)
            sbn__release_event(&layer_pass->ready[r]);
        if (layer_pass->last)
            sbn__release_event(&layer_pass->last[r]);
    }
    sbn__channel_table_destroy(&layer_pass->gradients);
    sbn__free(layer_pass->shards);
    sbn__free(layer_pass->shapes);
    sbn__free(layer_pass->ready);
    sbn__free(layer_pass->last);
    sbn__free(layer_pass->work);
    sbn__free(layer_pass->repeat);
    for (int i = 0; i < SBN_COLUMNS; ++i)
        sbn__free(layer_pass->columns[i]);
    sbn__free(layer_pass);
}

sbn_layer_pass *sbn__layer_pass_create(sbn_group *group)
{
    sbn_layer_pass *layer_pass = sbn__allocate(sizeof *layer_pass);
    if (!layer_pass)
        return NULL;
    const size_t replicas = group->replica_count;
    layer_pass->group = group;
    layer_pass->shards = sbn__allocate(sizeof *layer_pass->shards * replicas);
    layer_pass->shapes = sbn__allocate(sizeof *layer_pass->shapes * replicas);
    layer_pass->ready = sbn__allocate(sizeof *layer_pass->ready * replicas);
    layer_pass->last = sbn__allocate(sizeof *layer_pass->last * replicas);
    layer_pass->work = sbn__allocate(sizeof *layer_pass->work * replicas);
    if (layer_pass->shards && layer_pass->shapes && layer_pass->ready && layer_pass->last &&
        layer_pass->work)
        return layer_pass;
    sbn__layer_pass_destroy(layer_pass);
    return NULL;
}

void sbn__layer_pass_release(sbn_layer_pass *layer_pass)
{
    sbn_saved *saved = layer_pass->saved;
    if (saved) {
        --saved->used;
        saved->filling = saved->filling && !layer_pass->kind->fills;
    }
    if (layer_pass->layer)
        --layer_pass->layer->under_way;
    layer_pass->saved = NULL;
    layer_pass->layer = NULL;
}

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

int sbn__layer_pass_check_last(const sbn_layer_pass *layer_pass, const sbn_replica *replica)
{
    const cl_event last = layer_pass->last[replica->index];
    int done;
    return last ? sbn__event_done(replica, last, &done) : SBN_SUCCESS;
}

int sbn__layer_pass_finish(sbn_layer_pass *layer_pass, sbn_replica *replica)
{
    cl_event *last = &layer_pass->last[replica->index];
    int status = layer_pass->kind->store && !layer_pass->whole
                     ? layer_pass->kind->store(layer_pass, replica)
                     : SBN_SUCCESS;
    if (!status)
        status = sbn__hand_over(replica, &layer_pass->shards[replica->index], last);
    sbn__release_event(last);
    return status;
}
