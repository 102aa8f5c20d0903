/* A checkpoint file without a model: its layers with running statistics. */
#include <stdlib.h>
#include <string.h>

#include <syncbn/checkpoint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/object.h"
#include "base/text.h"
#include "base/versioned_struct.h"
#include "model/keys.h"
#include "safetensors/file.h"

typedef struct found {
    char *name;
    const sbn_tensor *tensors[SBN_KEYS]; /* NULL where there is none */
} found;

struct sbn_checkpoint {
    sbn_object object;
    sbn_tensor_file file;
    size_t size;
    found *layers;
};

/* Compares numbers within names by value, wherever they differ: "bn1_a" before "bn2", and that before "bn10". */
static int by_name(const void *one_layer, const void *other_layer)
{
    static const char digits[] = "0123456789";
    const char *one = ((const found *)one_layer)->name, *two = ((const found *)other_layer)->name;
    const char *a = one, *b = two;
    int order = 0;
    while (!order && (*a || *b)) {
        if (strspn(a, digits) == 0 || strspn(b, digits) == 0) {
            order = (unsigned char)*a++ - (unsigned char)*b++;
            continue;
        }
        a += strspn(a, "0");
        b += strspn(b, "0");
        const size_t length = strspn(a, digits), other = strspn(b, digits);
        order = (length > other) - (length < other);
        order = order ? order : memcmp(a, b, length);
        a += length;
        b += other;
    }
    return order ? order : strcmp(one, two);
}

/* A layer has a running_mean and a running_var. */
static int find_layers(sbn_checkpoint *checkpoint)
{
    const sbn_tensor_header *header = &checkpoint->file.header;
    size_t length;
    checkpoint->layers = sbn__allocate(sizeof *checkpoint->layers * header->count);
    if (!checkpoint->layers)
        return sbn__fail_memory("a checkpoint");
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < header->count && !status; ++i) {
        found *layer = &checkpoint->layers[checkpoint->size];
        if (sbn__key_split(header->tensors[i].name, &length) != SBN_VAR)
            continue;
        layer->name = sbn__text_copy(header->tensors[i].name, length);
        if (!layer->name)
            return sbn__fail_memory("a checkpoint");
        for (int which = 0; which < SBN_KEYS && !status; ++which)
            status = sbn__key_find(header, layer->name, length, which, &layer->tensors[which]);
        if (!status && layer->tensors[SBN_MEAN])
            ++checkpoint->size;
        else
            sbn__free(layer->name);
    }
    qsort(checkpoint->layers, checkpoint->size, sizeof *checkpoint->layers, by_name);
    return status;
}

static void free_checkpoint(sbn_checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->size; ++i)
        sbn__free(checkpoint->layers[i].name);
    sbn__free(checkpoint->layers);
    sbn__tensor_file_close(&checkpoint->file);
    sbn__object_remove(&checkpoint->object);
    sbn__free(checkpoint);
}

int sbn_checkpoint_create(const char *path, sbn_checkpoint **checkpoint)
{
    sbn__error_clear();
    if (!checkpoint)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "checkpoint: expected a place for the handle, got NULL");
    *checkpoint = NULL;
    sbn_checkpoint *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("a checkpoint");
    sbn__object_add(&made->object, SBN_HANDLE_CHECKPOINT);
    int status = sbn__tensor_file_open(&made->file, path);
    if (!status)
        status = find_layers(made);
    if (status)
        free_checkpoint(made);
    else
        *checkpoint = made;
    return status;
}

int sbn_checkpoint_destroy(sbn_checkpoint *checkpoint)
{
    const int status = checkpoint
                           ? sbn__check_handle(checkpoint, SBN_HANDLE_CHECKPOINT, "checkpoint")
                           : SBN_SUCCESS;
    if (checkpoint && !status)
        free_checkpoint(checkpoint);
    return status;
}

size_t sbn_checkpoint_size(const sbn_checkpoint *checkpoint)
{
    return sbn__object_is(checkpoint, SBN_HANDLE_CHECKPOINT) ? checkpoint->size : 0;
}

static int check_index(const sbn_checkpoint *checkpoint, size_t index)
{
    const int status = sbn__enter(checkpoint, SBN_HANDLE_CHECKPOINT, "checkpoint");
    if (!status && index >= checkpoint->size)
        return sbn__fail(SBN_INVALID_ARGUMENT, "index: expected a layer below %zu, got %zu",
                         checkpoint->size, index);
    return status;
}

int sbn_checkpoint_layer(const sbn_checkpoint *checkpoint, size_t index, sbn_layer_info *layer)
{
    int status = check_index(checkpoint, index);
    if (!status && !layer)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "layer: expected room for a layer, got NULL");
    if (!status)
        status = sbn__struct_check_room(layer, 1, SBN_STRUCT(sbn_layer_info), "layer");
    if (status)
        return status;
    const found *here = &checkpoint->layers[index];
    const sbn_layer_info info = {
        .size = sizeof info,
        .name = here->name,
        .channels = (size_t)here->tensors[SBN_MEAN]->elements,
        .type = here->tensors[SBN_MEAN]->type->name,
        .affine = here->tensors[SBN_WEIGHT] || here->tensors[SBN_BIAS],
        .tracked = here->tensors[SBN_BATCHES] != NULL,
        .has_weight = here->tensors[SBN_WEIGHT] != NULL,
        .has_bias = here->tensors[SBN_BIAS] != NULL,
    };
    sbn__struct_put(layer, 0, &info, sizeof info);
    return SBN_SUCCESS;
}

int sbn_checkpoint_read(const sbn_checkpoint *checkpoint, size_t index, float *weight, float *bias,
                        float *mean, float *var, int64_t *num_batches_tracked)
{
    int status = check_index(checkpoint, index);
    if (status)
        return status;
    const sbn_tensor_file *file = &checkpoint->file;
    const found *layer = &checkpoint->layers[index];
    const size_t channels = (size_t)layer->tensors[SBN_MEAN]->elements;
    for (int which = 0; which < SBN_KEYS; ++which)
        if (layer->tensors[which] && !sbn__key_fits(layer->tensors[which], which, channels))
            return sbn__key_misfit(layer->tensors[which], which, channels);
    float *const to[] = {weight, bias, mean, var};
    for (int which = 0; which < SBN_BATCHES && !status; ++which) {
        if (!to[which])
            continue;
        if (layer->tensors[which])
            status = sbn__tensor_read_floats(file, layer->tensors[which], to[which]);
        else
            for (size_t c = 0; c < channels; ++c)
                to[which][c] = which == SBN_WEIGHT ? 1.0f : 0.0f;
    }
    if (num_batches_tracked && !status) {
        *num_batches_tracked = 0;
        if (layer->tensors[SBN_BATCHES])
            status = sbn__tensor_read_integer(file, layer->tensors[SBN_BATCHES],
                                              num_batches_tracked);
    }
    return status;
}
