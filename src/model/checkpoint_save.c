/* Saves a model to a file: its layers' tensors, and all others of the base. */
#include <stdio.h>
#include <string.h>

#include <syncbn/checkpoint.h>

#include "base/memory.h"
#include "model/keys.h"
#include "model/model.h"
#include "safetensors/write.h"

typedef struct save {
    const sbn_model *model;
    const sbn_tensor_file *base; /* NULL: there is none */
    sbn_new_tensor *tensors;     /* those of the base, then the layers' new ones */
    char **keys;                 /* of the layers' tensors */
    char (*shapes)[sizeof "[18446744073709551615]"]; /* of each layer's new ones */
    size_t count;
} save;

static int encode_all(sbn_new_tensor *tensor, const float *values, size_t count)
{
    unsigned char *bytes = tensor->data;
    for (size_t i = 0; i < count; ++i)
        if (!sbn__tensor_encode(tensor->type, values[i], bytes + sbn__tensor_size(tensor->type, i)))
            return sbn__fail(SBN_KEY_MISMATCH,
                             "\"%s\": %g is too large for %s, its type in the file",
                             sbn__show(tensor->name).text, (double)values[i], tensor->type->name);
    return SBN_SUCCESS;
}

/* A layer's tensor with the type and shape that the base has for it, or new ones. */
static int add_tensor(save *s, size_t index, int which, sbn_new_tensor **added)
{
    const sbn_entry *entry = &s->model->entries[index];
    const size_t channels = entry->layer->channels;
    char *key = sbn__key(entry->name, strlen(entry->name), which);
    s->keys[SBN_KEYS * index + (size_t)which] = key;
    if (!key)
        return sbn__fail_memory("a key");
    const sbn_tensor *old = s->base ? sbn__tensor_header_find(&s->base->header, key) : NULL;
    if (old && !sbn__key_fits(old, which, channels))
        return sbn__key_misfit(old, which, channels);
    const size_t place = old ? (size_t)(old - s->base->header.tensors) : s->count++;
    sbn_new_tensor *tensor = *added = &s->tensors[place];
    if (!old)
        *tensor = (sbn_new_tensor){
            .name = key,
            .type = sbn__tensor_type_named(which == SBN_BATCHES ? "I64" : "F32"),
            .shape = which == SBN_BATCHES ? "[]" : s->shapes[index],
        };
    tensor->size = sbn__tensor_size(tensor->type, which == SBN_BATCHES ? 1 : channels);
    tensor->data = sbn__allocate((size_t)tensor->size);
    return tensor->data ? SBN_SUCCESS : sbn__fail_memory("a tensor");
}

static int add_layer(save *s, size_t index)
{
    const sbn_entry *entry = &s->model->entries[index];
    const sbn_batchnorm *layer = entry->layer;
    const size_t channels = layer->channels;
    float *values = sbn__allocate(sizeof(float) * SBN_BATCHES * channels);
    sbn_new_tensor *tensor = NULL;
    int64_t batches = 0;
    int status = values ? SBN_SUCCESS : sbn__fail_memory("a layer's values");
    snprintf(s->shapes[index], sizeof *s->shapes, "[%zu]", channels);
    if (!status && layer->affine)
        status = sbn__parameters_read(entry, values, values + channels);
    if (!status && layer->tracks)
        status = sbn_batchnorm_running_stats(layer, values + SBN_MEAN * channels,
                                             values + SBN_VAR * channels, &batches);
    for (int which = 0; which < SBN_KEYS && !status; ++which) {
        if (!sbn__key_expected(which, layer->affine, layer->tracks))
            continue;
        status = add_tensor(s, index, which, &tensor);
        if (!status && which == SBN_BATCHES)
            sbn__put_little_endian(tensor->data, (uint64_t)batches, (size_t)tensor->size);
        else if (!status)
            status = encode_all(tensor, values + channels * (size_t)which, channels);
    }
    sbn__free(values);
    return status;
}

static void add_base(save *s)
{
    for (size_t i = 0; s->base && i < s->base->header.count; ++i) {
        const sbn_tensor *old = &s->base->header.tensors[i];
        s->tensors[s->count++] = (sbn_new_tensor){
            .name = old->name,
            .type = old->type,
            .shape = old->shape,
            .size = old->end - old->begin,
            .from = old,
        };
    }
}

static int write_file(save *s, const char *path)
{
    /* The metadata that the reference implementation writes for PyTorch and some readers require. */
    static const sbn_tensor_metadata usual = {"format\0pt", 1};
    const size_t most = SBN_KEYS * s->model->size, others = s->base ? s->base->header.count : 0;
    s->tensors = sbn__allocate(sizeof *s->tensors * (most + others));
    s->keys = sbn__allocate(sizeof *s->keys * most);
    s->shapes = sbn__allocate(sizeof *s->shapes * s->model->size);
    int status = s->tensors && s->keys && s->shapes ? SBN_SUCCESS
                                                    : sbn__fail_memory("a model's tensors");
    if (!status)
        add_base(s);
    for (size_t i = 0; i < s->model->size && !status; ++i)
        status = add_layer(s, i);
    if (!status)
        status = sbn__tensor_file_write(path, s->base, s->base ? &s->base->header.metadata : &usual,
                                        s->tensors, s->count);
    for (size_t i = 0; i < s->count; ++i)
        sbn__free(s->tensors[i].data);
    for (size_t i = 0; s->keys && i < most; ++i)
        sbn__free(s->keys[i]);
    sbn__free(s->tensors);
    sbn__free(s->keys);
    sbn__free(s->shapes);
    return status;
}

int sbn_model_save(const sbn_model *model, const char *path, const char *base)
{
    sbn_tensor_file file;
    int status = sbn__enter(model, SBN_HANDLE_MODEL, "model");
    if (!status && !path)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "path: expected a file's name, got NULL");
    if (!status)
        status = sbn__check_known(model);
    if (!status && base)
        status = sbn__tensor_file_open(&file, base);
    if (status)
        return status;
    save s = {.model = model, .base = base ? &file : NULL};
    status = write_file(&s, path);
    if (base)
        sbn__tensor_file_close(&file);
    return status;
}
