/* Writes a safetensors file. */
#pragma once

#include "safetensors/file.h"

/* A tensor to be written: `data` or, if that is NULL, the data of `from` in the base file. */
typedef struct sbn_new_tensor {
    const char *name;
    const sbn_tensor_type *type;
    const char *shape; /* as a tensor of a header has it */
    uint64_t size;     /* in bytes */
    void *data;        /* owned, by sbn__free */
    const sbn_tensor *from;
} sbn_new_tensor;

/*
 * The header of these tensors' file, in their order, padded with spaces to a multiple of 8: a block
 * of sbn__allocate's; NULL without memory.
 */
char *sbn__tensor_header_text(const sbn_tensor_metadata *metadata, const sbn_new_tensor *tensors,
                              size_t count, size_t *length);

/*
 * Writes a complete file or none. Tensors are sorted by the size of their types, largest first, so
 * that each is aligned; then by name. `base` may be NULL.
 */
int sbn__tensor_file_write(const char *path, const sbn_tensor_file *base,
                           const sbn_tensor_metadata *metadata, sbn_new_tensor *tensors,
                           size_t count);
