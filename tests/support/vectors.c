#include "support/vectors.h"

#include <math.h>
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

void vectors_open(sbn_tensor_file *file, const char *name)
{
    must(sbn__tensor_file_open(file, data_path(name)), name);
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

void expect_floats(const slice *s, const sbn_buffer *buffer, const float *expected, size_t count,
                   double units, const char *what)
{
    double worst = 0.0, largest = 1.0;
    float *got = buffer_copy(s, buffer, count);
    for (size_t i = 0; i < count; ++i) {
        const double off = fabs((double)got[i] - expected[i]);
        /* Not fmax: a NaN is the worst. */
        worst = off <= worst ? worst : off;
        largest = fmax(largest, fabs(expected[i]));
    }
    worst = worst / largest * 0x1p24;
    tap_ok(worst <= units, "%s: %.2f of at most %g units off", what, worst, units);
    free(got);
}
