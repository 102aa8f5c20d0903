#include "model/model.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

int sbn_model_create(sbn_model **model)
{
    sbn__error_clear();
    if (!model)
        return sbn__fail(SBN_INVALID_ARGUMENT, "model: expected a place for the handle, got NULL");
    *model = sbn__allocate(sizeof **model);
    if (!*model)
        return sbn__fail_memory("a model");
    sbn__object_add(&(*model)->object, SBN_HANDLE_MODEL);
    return SBN_SUCCESS;
}

static void free_entry(sbn_entry *entry)
{
    sbn__parameters_drop(entry->parameters, entry->replicas);
    sbn__free(entry->name);
}

int sbn_model_destroy(sbn_model *model)
{
    const int status = model ? sbn__check_handle(model, SBN_HANDLE_MODEL, "model") : SBN_SUCCESS;
    if (!model || status)
        return status;
    for (size_t i = 0; i < model->size; ++i) {
        --model->entries[i].layer->models;
        free_entry(&model->entries[i]);
    }
    sbn__free(model->entries);
    sbn__object_remove(&model->object);
    sbn__free(model);
    return SBN_SUCCESS;
}

/* Makes room for one more. */
static int reserve(sbn_model *model)
{
    sbn_entry *entries = sbn__allocate(sizeof *entries * (model->size + 1));
    if (!entries)
        return sbn__fail_memory("a model");
    for (size_t i = 0; i < model->size; ++i)
        entries[i] = model->entries[i];
    sbn__free(model->entries);
    model->entries = entries;
    return SBN_SUCCESS;
}

static int check_new(const sbn_model *model, const char *name, const sbn_batchnorm *layer,
                     const sbn_parameters *parameters)
{
    int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    if (!status)
        status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    if (!name)
        return sbn__fail(SBN_INVALID_ARGUMENT, "name: expected a name, got NULL");
    if (!sbn__utf8_is_valid(name))
        return sbn__fail(SBN_INVALID_ARGUMENT, "name: expected UTF-8, got other bytes");
    for (size_t i = 0; i < model->size; ++i) {
        if (strcmp(model->entries[i].name, name) == 0)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "name: expected one that the model does not have, got \"%s\"", name);
        if (model->entries[i].layer == layer)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "layer of \"%s\": expected one that the model does not have, got the "
                             "layer of \"%s\"",
                             name, model->entries[i].name);
    }
    if (parameters && !layer->affine)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "parameters: expected NULL for layer \"%s\", which has no weight or bias, got some",
            name);
    return parameters ? sbn__check_parameters(name, layer, layer->group, parameters) : SBN_SUCCESS;
}

int sbn_model_add(sbn_model *model, const char *name, sbn_batchnorm *layer,
                  const sbn_parameters *parameters)
{
    int status = check_new(model, name, layer, parameters);
    if (!status)
        status = reserve(model);
    if (status)
        return status;
    sbn_entry entry = {.layer = layer, .replicas = layer->group->replica_count};
    entry.name = sbn__text_copy(name, strlen(name));
    if (!entry.name)
        status = sbn__fail_memory("a model");
    if (!status && parameters)
        status = sbn__parameters_keep(parameters, entry.replicas, &entry.parameters);
    if (status) {
        free_entry(&entry);
        return status;
    }
    model->entries[model->size++] = entry;
    ++layer->models;
    return SBN_SUCCESS;
}

static const sbn_entry *entry_at(const sbn_model *model, size_t index)
{
    return sbn__object_is(model, SBN_HANDLE_MODEL) && index < model->size ? &model->entries[index]
                                                                          : NULL;
}

size_t sbn_model_size(const sbn_model *model)
{
    return sbn__object_is(model, SBN_HANDLE_MODEL) ? model->size : 0;
}

const char *sbn_model_name(const sbn_model *model, size_t index)
{
    const sbn_entry *entry = entry_at(model, index);
    return entry ? entry->name : NULL;
}

sbn_batchnorm *sbn_model_layer(const sbn_model *model, size_t index)
{
    const sbn_entry *entry = entry_at(model, index);
    return entry ? entry->layer : NULL;
}

sbn_batchnorm *sbn_model_find(const sbn_model *model, const char *name, size_t *index)
{
    for (size_t i = 0; name && i < sbn_model_size(model); ++i)
        if (strcmp(model->entries[i].name, name) == 0) {
            if (index)
                *index = i;
            return model->entries[i].layer;
        }
    return NULL;
}

/* Checks that the layers that change are idle, so that no switch fails after another succeeded. */
static int check_switch(const sbn_model *model, int value, int (*is)(const sbn_batchnorm *layer),
                        const char *name, const char *what)
{
    int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    if (!status && value != 0 && value != 1)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected 0 or 1, got %d", name, value);
    for (size_t i = 0; !status && i < model->size; ++i)
        if (is(model->entries[i].layer) != value)
            status = sbn__check_idle(model->entries[i].layer, what);
    return status;
}

int sbn_model_set_training(sbn_model *model, int training)
{
    const int status = check_switch(model, training, sbn_batchnorm_is_training, "training",
                                    "switching training and evaluation");
    for (size_t i = 0; !status && i < model->size; ++i)
        model->entries[i].layer->training = training;
    return status;
}

int sbn_model_set_frozen(sbn_model *model, int frozen)
{
    const int status = check_switch(model, frozen, sbn_batchnorm_is_frozen, "frozen", "freezing");
    for (size_t i = 0; !status && i < model->size; ++i)
        model->entries[i].layer->frozen = frozen;
    return status;
}

int sbn_model_reset_running_stats(sbn_model *model)
{
    int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    for (size_t i = 0; !status && i < model->size; ++i)
        if (model->entries[i].layer->tracks)
            status = sbn_batchnorm_reset_running_stats(model->entries[i].layer);
    return status;
}

int sbn__check_known(const sbn_model *model)
{
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < model->size && !status; ++i)
        status = sbn__entry_check_known(&model->entries[i]);
    return status;
}

static int check_index(const sbn_model *model, size_t index)
{
    const int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    if (status)
        return status;
    if (index >= model->size)
        return sbn__fail(SBN_INVALID_ARGUMENT, "index: expected a layer below %zu, got %zu",
                         model->size, index);
    const sbn_entry *entry = &model->entries[index];
    if (!entry->layer->affine)
        return sbn__fail(SBN_INVALID_ARGUMENT, "layer \"%s\" has no weight and bias", entry->name);
    return sbn__entry_check_known(entry);
}

int sbn_model_parameters(const sbn_model *model, size_t index, float *weight, float *bias)
{
    const int status = check_index(model, index);
    return status ? status : sbn__parameters_read(&model->entries[index], weight, bias);
}

int sbn_model_set_parameters(sbn_model *model, size_t index, const float *weight, const float *bias)
{
    const int status = check_index(model, index);
    return status ? status : sbn__parameters_write(&model->entries[index], weight, bias);
}

static int reset_parameters(const sbn_entry *entry)
{
    const size_t channels = entry->layer->channels;
    float *values = sbn__allocate(sizeof(float) * 2 * channels);
    if (!values)
        return sbn__fail_memory("a layer's parameters");
    for (size_t c = 0; c < channels; ++c)
        values[c] = 1.0f;
    const int status = sbn__parameters_write(entry, values, values + channels);
    sbn__free(values);
    return status;
}

int sbn_model_reset_parameters(sbn_model *model)
{
    int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    for (size_t i = 0; !status && i < model->size; ++i)
        if (model->entries[i].parameters)
            status = sbn__check_replicas(&model->entries[i]);
    if (!status)
        status = sbn_model_reset_running_stats(model);
    for (size_t i = 0; !status && i < model->size; ++i)
        if (model->entries[i].parameters)
            status = reset_parameters(&model->entries[i]);
    return status;
}
