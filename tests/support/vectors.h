/* Tensors of the files in tests/model/data, on the host. What is not there ends the program. */
#pragma once

#include "support/fixture.h"
#include "safetensors/file.h"

/* Writes a file of a header, said to have `length` bytes, and of `data` bytes of data that are all `byte`. */
void vectors_write(const char *path, const char *header, uint64_t length, int byte, size_t data);

void vectors_open(sbn_tensor_file *file, const char *name);

/* The tensor "group.name" as floats, to be freed; `count` may be NULL. NULL where it is not there. */
float *vectors_get(const sbn_tensor_file *file, const char *group, const char *name, size_t *count);

/* One check: floats of a buffer are within `units` units of 2^-24 of the largest expected one, or of 1. */
void expect_floats(const slice *s, const sbn_buffer *buffer, const float *expected, size_t count,
                   double units, const char *what);
