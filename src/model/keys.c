#include "model/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static const char *const leaves[SBN_KEYS] = {"weight", "bias", "running_mean", "running_var",
                                             "num_batches_tracked"};

char *sbn__key(const char *layer, size_t length, int which)
{
    const size_t size = length + 1 + strlen(leaves[which]) + 1;
    char *key = sbn__allocate(size);
    if (key)
        snprintf(key, size, "%.*s%s%s", (int)length, layer, length ? "." : "", leaves[which]);
    return key;
}

int sbn__key_find(const sbn_tensor_header *header, const char *layer, size_t length, int which,
                  const sbn_tensor **found)
{
    char *key = sbn__key(layer, length, which);
    if (!key)
        return sbn__fail_memory("a key");
    *found = sbn__tensor_header_find(header, key);
    sbn__free(key);
    return SBN_SUCCESS;
}

int sbn__key_split(const char *key, size_t *layer_length)
{
    const char *dot = strrchr(key, '.'), *leaf = dot ? dot + 1 : key;
    *layer_length = dot ? (size_t)(dot - key) : 0;
    /* ".weight" belongs to no layer: keys of a layer without a name have no dot. */
    for (int which = 0; which < SBN_KEYS && dot != key; ++which)
        if (strcmp(leaf, leaves[which]) == 0)
            return which;
    return -1;
}

int sbn__key_fits(const sbn_tensor *tensor, int which, size_t channels)
{
    const size_t dims = sbn__shape_dims(tensor->shape);
    if (which == SBN_BATCHES)
        return strcmp(tensor->type->name, "I64") == 0 && dims <= 1 && tensor->elements == 1;
    return sbn__tensor_is_real(tensor) && dims == 1 && tensor->elements == channels;
}

int sbn__key_misfit(const sbn_tensor *tensor, int which, size_t channels)
{
    const sbn_shown name = sbn__show(tensor->name), shape = sbn__show(tensor->shape);
    if (which == SBN_BATCHES)
        return sbn__fail(SBN_KEY_MISMATCH, "\"%s\": expected I64 of shape [], got %s of %s",
                         name.text, tensor->type->name, shape.text);
    return sbn__fail(SBN_KEY_MISMATCH,
                     "\"%s\": expected F32, F16 or BF16 of shape [%zu], got %s of %s", name.text,
                     channels, tensor->type->name, shape.text);
}

int sbn__key_expected(int which, int affine, int tracks)
{
    return which <= SBN_BIAS ? affine : tracks;
}
