#include "pass/layer_pass.h"

#include <string.h>

#include "base/memory.h"
#include "pass/reduce.h"
#include "pass/shard.h"

int sbn__layer_pass_is_joined(const sbn_layer_pass *layer_pass)
{
    return !layer_pass->kind->local && sbn__group_is_joined(layer_pass->group);
}

static void free_piece(sbn_chunk *chunk, size_t replicas)
{
    for (size_t r = 0; chunk->work && r < replicas; ++r) {
        sbn_work *work = &chunk->work[r];
        sbn__reduce_wait(work);
        sbn__release_event(&work->read);
        sbn__release_buffer(&work->partial);
        sbn__release_buffer(&work->words);
        sbn__staging_release(&work->host);
    }
    sbn__free(chunk->work);
    sbn__free(chunk->geometries);
}

static void free_part(sbn_layer_pass *layer_pass)
{
    const size_t replicas = layer_pass->group->replica_count;
    for (int i = 0; i < SBN_CHUNKS; ++i)
        free_piece(&layer_pass->chunks[i], replicas);
    for (size_t r = 0; r < replicas; ++r) {
        if (layer_pass->ready)
            sbn__release_event(&layer_pass->ready[r]);
        if (layer_pass->last)
            sbn__release_event(&layer_pass->last[r]);
    }
    sbn__channel_table_destroy(&layer_pass->gradients);
    sbn__free(layer_pass->shards);
    sbn__free(layer_pass->geometries);
    sbn__free(layer_pass->ready);
    sbn__free(layer_pass->last);
    sbn__free(layer_pass->repeat);
    for (int i = 0; i < SBN_COLUMNS; ++i)
        sbn__free(layer_pass->columns[i]);
    sbn__free(layer_pass);
}

void sbn__layer_passes_free(sbn_layer_pass *layer_passes)
{
    while (layer_passes) {
        sbn_layer_pass *next = layer_passes->next;
        free_part(layer_passes);
        layer_passes = next;
    }
}

static int make_piece(sbn_chunk *chunk, size_t replicas)
{
    chunk->geometries = sbn__allocate(sizeof *chunk->geometries * replicas);
    chunk->work = sbn__allocate(sizeof *chunk->work * replicas);
    return chunk->geometries && chunk->work;
}

static sbn_layer_pass *make_part(sbn_group *group)
{
    sbn_layer_pass *layer_pass = sbn__allocate(sizeof *layer_pass);
    if (!layer_pass)
        return NULL;
    const size_t replicas = group->replica_count;
    layer_pass->group = group;
    layer_pass->shards = sbn__allocate(sizeof *layer_pass->shards * replicas);
    layer_pass->geometries = sbn__allocate(sizeof *layer_pass->geometries * replicas);
    layer_pass->ready = sbn__allocate(sizeof *layer_pass->ready * replicas);
    layer_pass->last = sbn__allocate(sizeof *layer_pass->last * replicas);
    int made = layer_pass->shards && layer_pass->geometries && layer_pass->ready &&
               layer_pass->last;
    for (int i = 0; i < SBN_CHUNKS && made; ++i)
        made = make_piece(&layer_pass->chunks[i], replicas);
    if (made)
        return layer_pass;
    free_part(layer_pass);
    return NULL;
}

int sbn__layer_passes_acquire(sbn_group *group, size_t count, sbn_layer_pass **layer_passes)
{
    sbn_layer_pass **end = &group->idle_layer_passes;
    for (; count > 0; --count) {
        if (!*end)
            *end = make_part(group);
        if (!*end)
            return sbn__fail_memory("a pass");
        end = &(*end)->next;
    }
    *layer_passes = group->idle_layer_passes;
    group->idle_layer_passes = *end;
    *end = NULL;
    return SBN_SUCCESS;
}

/* In the same order: the next call of as many layers finds memory of the right size. */
void sbn__layer_passes_release(sbn_layer_pass *layer_passes)
{
    sbn_layer_pass **end = &layer_passes;
    for (; *end; end = &(*end)->next) {
        sbn_saved *saved = (*end)->saved;
        if (saved) {
            --saved->used;
            saved->filling = saved->filling && !(*end)->kind->fills;
        }
        (*end)->saved = NULL;
        (*end)->layer = NULL;
    }
    if (!layer_passes)
        return;
    sbn_group *group = layer_passes->group;
    *end = group->idle_layer_passes;
    group->idle_layer_passes = layer_passes;
}

/* Names the call in headers and sentences. */
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
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer: one of the first layer's group was expected, layer \"%s\" of "
                         "another group came",
                         layer->name);
    return status;
}

int sbn__layer_pass_open(sbn_layer_pass *layer_pass, sbn__choose *choose, const sbn_branch *branch)
{
    sbn_branch call = *branch;
    int status = check_layer(call.layer, layer_pass->group);
    layer_pass->layer = status ? NULL : call.layer;
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
    layer_pass->result = (sbn_result){sizeof layer_pass->result, 0, !layer_pass->group->alone, 0};
    memset(layer_pass->repeat, 0, layer_pass->layer->channels);
}

int sbn__layer_pass_prepare(sbn_layer_pass *layer_pass, const sbn_shard *shards)
{
    const sbn_group *group = layer_pass->group;
    const char *operation = layer_pass->kind->operation;
    int status = sbn__reduce_prepare(layer_pass);
    if (!status)
        status = sbn__check_shards(layer_pass->layer, shards, layer_pass->kind->needs, operation,
                                   layer_pass->geometries);
    if (!status && !layer_pass->kind->fills)
        status = sbn__check_same_shapes(layer_pass->saved, layer_pass->geometries, operation);
    layer_pass->own = 0;
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_shard *shard = &shards[r];
        layer_pass->shards[r] = *shard;
        layer_pass->own += layer_pass->geometries[r].values;
        if (shard->num_wait > 0)
            status = sbn__marker(&group->replicas[r], shard->num_wait, shard->wait_list,
                                 &layer_pass->ready[r]);
    }
    if (status)
        return status;
    sbn__chunk_set(layer_pass, &layer_pass->chunks[0], 0, layer_pass->layer->channels);
    sbn__layer_pass_start(layer_pass);
    return SBN_SUCCESS;
}

void sbn__chunk_set(const sbn_layer_pass *layer_pass, sbn_chunk *chunk, size_t first,
                    size_t channels)
{
    chunk->first = first;
    chunk->channels = channels;
    for (size_t r = 0; r < layer_pass->group->replica_count; ++r)
        chunk->geometries[r] = sbn__geometry_chunk(&layer_pass->geometries[r], first, channels);
}

void sbn__chunk_wait(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk)
{
    for (size_t r = 0; r < layer_pass->group->replica_count; ++r)
        sbn__reduce_wait(&chunk->work[r]);
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
    int status = layer_pass->kind->store ? layer_pass->kind->store(layer_pass, replica)
                                         : SBN_SUCCESS;
    if (!status)
        status = sbn__hand_over(replica, &layer_pass->shards[replica->index], last);
    sbn__release_event(last);
    return status;
}
