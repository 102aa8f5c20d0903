/* Tensors of the files in tests/model/data, on the host. What is not there ends the program. */
#pragma once

#include "support/fixture.h"
#include "safetensors/file.h"

/* Writes a file of a header, said to have `length` bytes, and of `data` bytes of data that are all `byte`. */
void vectors_write(const char *path, const char *header, uint64_t length, int byte, size_t data);

/* The tensor "group.name" as floats, to be freed; `count` may be NULL. NULL where it is not there. */
float *vectors_get(const sbn_tensor_file *file, const char *group, const char *name, size_t *count);
