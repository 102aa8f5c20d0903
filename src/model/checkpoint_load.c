/* Loading a file into a model: keys are checked first, then all values are read; only then does anything change. */
#include <stdio.h>
#include <string.h>

#include <syncbn/checkpoint.h>

#include "base/memory.h"
#include "model/keys.h"
#include "model/model.h"
#include "safetensors/file.h"

typedef struct load {
    sbn_model *model;
    sbn_load_config config;
    sbn_tensor_file file;
    size_t problems; /* that are errors */
    char first[SBN_SENTENCE_SIZE];
} load;

/* The values of a layer; the pointers to those that the file does not have are NULL. */
typedef struct values {
    float *floats;          /* SBN_BATCHES x channels */
    float *of[SBN_BATCHES]; /* within them */
    int64_t batches;
    const int64_t *count; /* &batches */
} values;

/* Reports a key; the last sentence says what is wrong with it. */
static void report(load *l, sbn_key_problem problem, const char *key)
{
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    if (problem == SBN_KEY_WRONG_SHAPE || l->config.strict)
        if (l->problems++ == 0)
            strcpy(l->first, sentence);
    if (l->config.report)
        l->config.report(l->config.context, problem, key, sentence);
}

static const sbn_entry *find_entry(const sbn_model *model, const char *name, size_t length)
{
    for (size_t i = 0; i < model->size; ++i)
        if (strncmp(model->entries[i].name, name, length) == 0 && !model->entries[i].name[length])
            return &model->entries[i];
    return NULL;
}

/* Finds keys that a layer of the model does not have, or of layers that the model does not have. */
static int judge_unexpected(load *l)
{
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < l->file.header.count && !status; ++i) {
        const char *key = l->file.header.tensors[i].name;
        size_t length;
        int unexpected = 0;
        const sbn_tensor *mean = NULL, *var = NULL;
        const int which = sbn__key_split(key, &length);
        const sbn_entry *entry = find_entry(l->model, key, length);
        if (entry) {
            unexpected = which < 0 ||
                         !sbn__key_expected(which, entry->layer->affine, entry->layer->tracks);
        } else if (which >= 0) {
            /* Of a layer only if that has running statistics. */
            status = sbn__key_find(&l->file.header, key, length, SBN_MEAN, &mean);
            if (!status && mean)
                status = sbn__key_find(&l->file.header, key, length, SBN_VAR, &var);
            unexpected = var != NULL;
        }
        if (!status && unexpected) {
            sbn__fail(SBN_KEY_MISMATCH, "\"%s\": unexpected, the model has no such key",
                      sbn__show(key).text);
            report(l, SBN_KEY_UNEXPECTED, key);
        }
    }
    return status;
}

/* Reads one tensor of a layer, or reports what is wrong. */
static int take_tensor(load *l, const sbn_entry *entry, int which, values *v)
{
    const size_t channels = entry->layer->channels;
    char *key = sbn__key(entry->name, strlen(entry->name), which);
    if (!key)
        return sbn__fail_memory("a key");
    int status = SBN_SUCCESS;
    const sbn_tensor *tensor = sbn__tensor_header_find(&l->file.header, key);
    if (!tensor && which != SBN_BATCHES) {
        sbn__fail(SBN_KEY_MISMATCH, "\"%s\": missing, the file has no such key",
                  sbn__show(key).text);
        report(l, SBN_KEY_MISSING, key);
    } else if (tensor && !sbn__key_fits(tensor, which, channels)) {
        sbn__key_misfit(tensor, which, channels);
        report(l, SBN_KEY_WRONG_SHAPE, key);
    } else if (tensor && which == SBN_BATCHES) {
        v->count = &v->batches;
        status = sbn__tensor_read_integer(&l->file, tensor, &v->batches);
    } else if (tensor) {
        v->of[which] = v->floats + channels * (size_t)which;
        status = sbn__tensor_read_floats(&l->file, tensor, v->of[which]);
    }
    if (!status && v->batches < 0)
        status = sbn__fail(SBN_INVALID_FILE, "%s: \"%s\": expected a count from 0, got %lld",
                           l->file.path, sbn__show(key).text, (long long)v->batches);
    sbn__free(key);
    return status;
}

static int take(load *l, const sbn_entry *entry, values *v)
{
    const sbn_batchnorm *layer = entry->layer;
    int status = SBN_SUCCESS;
    v->floats = sbn__allocate(sizeof(float) * SBN_BATCHES * layer->channels);
    if (!v->floats)
        return sbn__fail_memory("a layer's values");
    for (int which = 0; which < SBN_KEYS && !status; ++which)
        if (sbn__key_expected(which, layer->affine, layer->tracks))
            status = take_tensor(l, entry, which, v);
    /* A file of version 1 has no count of batches; a file without statistics says nothing about it. */
    if (l->config.strict && v->of[SBN_MEAN] && v->of[SBN_VAR])
        v->count = &v->batches;
    return status;
}

static int read_and_put(load *l)
{
    const size_t size = l->model->size;
    const sbn_entry *entries = l->model->entries;
    values *all = sbn__allocate(sizeof *all * size);
    int status = all ? SBN_SUCCESS : sbn__fail_memory("a model's values");
    for (size_t i = 0; i < size && !status; ++i)
        status = take(l, &entries[i], &all[i]);
    if (!status)
        status = judge_unexpected(l);
    if (!status && l->problems > 0)
        status = sbn__fail(SBN_KEY_MISMATCH,
                           l->problems > 1 ? "%s: %zu keys do not fit the model: %s, ..."
                                           : "%s: %zu key does not fit the model: %s",
                           l->file.path, l->problems, l->first);
    /* The statistics fail where a device has failed in an earlier pass, which is told once. */
    for (size_t i = 0; i < size && !status; ++i)
        if (entries[i].layer->tracks)
            status = sbn_batchnorm_set_running_stats(entries[i].layer, all[i].of[SBN_MEAN],
                                                     all[i].of[SBN_VAR], all[i].count);
    for (size_t i = 0; i < size && !status; ++i)
        if (entries[i].layer->affine)
            status = sbn__parameters_write(&entries[i], all[i].of[SBN_WEIGHT], all[i].of[SBN_BIAS]);
    for (size_t i = 0; all && i < size; ++i)
        sbn__free(all[i].floats);
    sbn__free(all);
    return status;
}

int sbn_load_config_init(sbn_load_config *config, size_t size)
{
    static const sbn_load_config defaults = SBN_LOAD_CONFIG_INIT;
    return sbn__struct_init(config, size, &defaults, SBN_STRUCT(sbn_load_config), "config");
}

int sbn_model_load(sbn_model *model, const char *path, const sbn_load_config *config)
{
    load l = {.model = model, .config = SBN_LOAD_CONFIG_INIT};
    int status = sbn__check_handle(model, SBN_HANDLE_MODEL, "model");
    if (!status && config)
        status = sbn__struct_read(&l.config, config, SBN_STRUCT(sbn_load_config), "config");
    if (!status)
        status = sbn__check_known(model);
    if (!status)
        status = sbn__tensor_file_open(&l.file, path);
    if (status)
        return status;
    status = read_and_put(&l);
    sbn__tensor_file_close(&l.file);
    if (!status)
        sbn__error_clear();
    return status;
}
