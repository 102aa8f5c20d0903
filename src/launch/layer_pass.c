#include "launch/layer_pass.h"

#include "base/memory.h"

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

int sbn__layer_pass_check_last(const sbn_layer_pass *layer_pass, const sbn_replica *replica)
{
    const cl_event last = layer_pass->last[replica->index];
    int done;
    return last ? sbn__event_done(replica, last, &done) : SBN_SUCCESS;
}
