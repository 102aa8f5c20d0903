#include "support/vectors.h"

#include <stdio.h>
#include <stdlib.h>

void vectors_write(const char *path, const char *header, uint64_t length, int byte, size_t data)
{
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < 8; ++i)
        putc((int)(length >> 8 * i & 255), file);
    fputs(header, file);
    for (size_t i = 0; i < data; ++i)
        putc(byte, file);
    fclose(file);
}

float *vectors_get(const sbn_tensor_file *file, const char *group, const char *name, size_t *count)
{
    char key[128];
    snprintf(key, sizeof key, "%s%s%s", group, *group ? "." : "", name);
    const sbn_tensor *tensor = sbn__tensor_header_find(&file->header, key);
    if (!tensor)
        return NULL;
    float *values = malloc(sizeof(float) * (tensor->elements + 1));
    must(values ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    must(sbn__tensor_read_floats(file, tensor, values), key);
    if (count)
        *count = (size_t)tensor->elements;
    return values;
}
