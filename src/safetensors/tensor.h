/* A tensor of a safetensors file: its type, shape and place, its numbers as bytes, and its name in sentences. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct sbn_tensor_type {
    const char *name;
    unsigned bits;
} sbn_tensor_type;

/* Returns NULL if there is no such type. */
const sbn_tensor_type *sbn__tensor_type_named(const char *name);

typedef struct sbn_tensor {
    const char *name; /* in the header's text, as is the shape */
    const sbn_tensor_type *type;
    const char *shape; /* as JSON has it, without spaces: "[2,3]" */
    uint64_t elements;
    uint64_t begin, end; /* in bytes from the data's start */
} sbn_tensor;

/* In bytes, of types of whole bytes. */
uint64_t sbn__tensor_size(const sbn_tensor_type *type, uint64_t elements);

/* 1 if the type is F32, F16 or BF16. */
int sbn__tensor_is_real(const sbn_tensor *tensor);

/* Numbers in files are little-endian. */
uint64_t sbn__little_endian(const unsigned char *bytes, size_t size);
void sbn__put_little_endian(unsigned char *bytes, uint64_t value, size_t size);

/* A float from and to a real type; the second returns 0 if it is finite and too large for the type. */
float sbn__tensor_decode(const sbn_tensor_type *type, const unsigned char *bytes);
int sbn__tensor_encode(const sbn_tensor_type *type, float value, unsigned char *bytes);

/* A name or a shape in a form for sentences: printable (src/base/text.h) and shortened. */
typedef struct sbn_shown {
    char text[100];
} sbn_shown;

sbn_shown sbn__show(const char *name);

/* How many extents a shape has. */
size_t sbn__shape_dims(const char *shape);
