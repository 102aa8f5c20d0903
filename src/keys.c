/* Keys of a state dict, and what a layer's tensors must be. */
#include <string.h>

#include "checkpoint.h"
#include "error.h"
#include "handles.h"

static const char *const leaves[SBN_KEYS] = {"weight", "bias", "running_mean", "running_var",
                                             "num_batches_tracked"};

int sbn_check_name(const char *name)
{
    json_error_t error;
    json_t *text = json_pack_ex(&error, 0, "s", name);
    if (!text && json_error_code(&error) == json_error_invalid_utf8)
        return sbn_fail(SBN_INVALID_ARGUMENT, "name: UTF-8 was expected, other bytes came");
    json_decref(text);
    return text ? SBN_SUCCESS : sbn_fail_memory("a name");
}

char *sbn_key(const char *layer, int which)
{
    const size_t length = strlen(layer);
    char *key = sbn_allocate(length + 1 + strlen(leaves[which]) + 1);
    if (key) {
        strcpy(key, layer);
        strcpy(key + length, length ? "." : "");
        strcat(key + length, leaves[which]);
    }
    return key;
}

int sbn_key_split(const char *key, size_t *layer_length)
{
    const char *dot = strrchr(key, '.'), *leaf = dot ? dot + 1 : key;
    *layer_length = dot ? (size_t)(dot - key) : 0;
    /* ".weight" is no layer's: a layer without a name has no dot. */
    if (dot == key)
        return -1;
    for (int which = 0; which < SBN_KEYS; ++which)
        if (strcmp(leaf, leaves[which]) == 0)
            return which;
    return -1;
}

int sbn_key_fits(const sbn_tensor *tensor, int which, size_t channels)
{
    const size_t dims = json_array_size(tensor->shape);
    if (which == SBN_BATCHES)
        return strcmp(tensor->type->name, "I64") == 0 && dims <= 1 && tensor->elements == 1;
    return sbn_tensor_is_real(tensor) && dims == 1 && tensor->elements == channels;
}

int sbn_key_misfit(const sbn_tensor *tensor, int which, size_t channels)
{
    const sbn_shown name = sbn_show(tensor->name), shape = sbn_show_shape(tensor->shape);
    if (which == SBN_BATCHES)
        return sbn_fail(SBN_KEY_MISMATCH, "\"%s\": I64 of shape [] was expected, %s of %s came",
                        name.text, tensor->type->name, shape.text);
    return sbn_fail(SBN_KEY_MISMATCH,
                    "\"%s\": F32, F16 or BF16 of shape [%zu] was expected, %s of %s came",
                    name.text, channels, tensor->type->name, shape.text);
}

int sbn_key_expected(int which, int affine, int tracks)
{
    return which <= SBN_BIAS ? affine : tracks;
}
