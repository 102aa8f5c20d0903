/*
 * Moves a model to another group: everything that can fail is done for all layers first; then the
 * layers move with their new buffers; then values are copied.
 */
#include <string.h>

#include "base/memory.h"
#include "layer/state.h"
#include "model/model.h"

/* A layer will have these in its new group. */
typedef struct successor {
    int copies;    /* 1: weight and bias are copied, by way of `values` */
    float *values; /* weight and bias on the host */
    sbn_parameters *parameters;
    sbn_shape *shapes; /* the layer's */
} successor;

static int ask(const sbn_entry *entry, sbn_group *group, sbn_replicate_fn replicate, void *context,
               sbn_parameters *parameters)
{
    for (size_t r = 0; r < group->replica_count; ++r) {
        parameters[r] = (sbn_parameters)SBN_PARAMETERS_INIT;
        const int status = replicate(context, entry->name, entry->layer, r, &parameters[r]);
        parameters[r].size = sizeof *parameters; /* whatever the callback left there */
        if (status < 0)
            return sbn__fail(status, "layer \"%s\", replica %zu: replicate returned %d (%s)",
                             entry->name, r, status, sbn_status_name(status));
    }
    return SBN_SUCCESS;
}

static int prepare(const sbn_entry *entry, sbn_group *group, sbn_replicate_fn replicate,
                   void *context, successor *next)
{
    int status = sbn__layer_move_prepare(entry->layer, group, &next->shapes);
    if (!status && entry->parameters)
        status = sbn__check_replicas(entry);
    if (status || !entry->parameters)
        return status;
    const size_t channels = entry->layer->channels;
    sbn_parameters *parameters = sbn__allocate(sizeof *parameters * group->replica_count);
    next->values = sbn__allocate(sizeof(float) * 2 * channels);
    if (!next->values || !parameters)
        status = sbn__fail_memory("a layer's parameters");
    if (!status && replicate)
        status = ask(entry, group, replicate, context, parameters);
    else if (!status && entry->replicas == group->replica_count)
        memcpy(parameters, entry->parameters, sizeof *parameters * entry->replicas);
    else if (!status)
        status = sbn__fail(SBN_INVALID_ARGUMENT,
                           "layer \"%s\": replicate: expected a function, as the new group has %zu "
                           "replicas and the model buffers for %zu, got NULL",
                           entry->name, group->replica_count, entry->replicas);
    if (!status)
        status = sbn__check_parameters(entry->name, entry->layer, group, parameters);
    next->copies = replicate && entry->replicas > 0 && group->replica_count > 0;
    /* The new group may have other queues, and the same buffers. */
    for (size_t r = 0; r < entry->replicas && next->copies && !status; ++r)
        status = sbn__finish(&entry->layer->group->replicas[r]);
    if (!status && next->copies)
        status = sbn__parameters_read(entry, next->values, next->values + channels);
    if (!status)
        status = sbn__parameters_keep(parameters, group->replica_count, &next->parameters);
    sbn__free(parameters);
    return status;
}

/* Moves the layer, and replaces the old buffers by the new ones. */
static void settle(sbn_entry *entry, sbn_group *group, successor *next)
{
    sbn__layer_move_finish(entry->layer, group, &next->shapes);
    sbn__parameters_drop(entry->parameters, entry->replicas);
    entry->parameters = next->parameters;
    entry->replicas = group->replica_count;
    next->parameters = NULL;
}

int sbn_model_set_group(sbn_model *model, sbn_group *group, sbn_replicate_fn replicate,
                        void *context)
{
    int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    if (!status)
        status = sbn__check_handle(group, SBN_HANDLE_GROUP, "group");
    if (status)
        return status;
    successor *next = sbn__allocate(sizeof *next * model->size);
    if (!next)
        status = sbn__fail_memory("a model");
    for (size_t i = 0; i < model->size && !status; ++i)
        status = prepare(&model->entries[i], group, replicate, context, &next[i]);
    for (size_t i = 0; i < model->size && !status; ++i)
        settle(&model->entries[i], group, &next[i]);
    for (size_t i = 0; i < model->size && !status; ++i)
        if (next[i].copies)
            status = sbn__parameters_write(&model->entries[i], next[i].values,
                                           next[i].values + model->entries[i].layer->channels);
    for (size_t i = 0; next && i < model->size; ++i) {
        sbn__free(next[i].shapes);
        sbn__parameters_drop(next[i].parameters, group->replica_count);
        sbn__free(next[i].values);
    }
    sbn__free(next);
    return status;
}
