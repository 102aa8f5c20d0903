/*
 * The header of a safetensors file. The file begins with 8 bytes, little-endian, that say the header's length; the
 * header is a JSON object that maps tensors' names to type, shape and place; the data follow without gaps.
 */
#pragma once

#include "safetensors/tensor.h"

/* Strings one behind the other, each with its NUL: a key, its value, and so on. */
typedef struct sbn_tensor_metadata {
    const char *strings; /* NULL: the file has no metadata */
    size_t count;        /* of pairs */
} sbn_tensor_metadata;

typedef struct sbn_tensor_header {
    sbn_tensor_metadata metadata;
    size_t count;
    sbn_tensor *tensors; /* by name */
} sbn_tensor_header;

/* The longest header, as in the reference implementation. */
#define SBN_TENSOR_HEADER_LIMIT 100000000u

/* Reads the length from a file's first 8 bytes. In all functions here `path` begins the sentence. */
int sbn__tensor_header_length(const unsigned char first[8], uint64_t file_size, const char *path,
                              uint64_t *length);

/*
 * Parses and checks the header of `data_size` bytes of data into one that is zeroed or freed, and
 * is to be freed whatever it returns. The text is changed and belongs to the header until then. It
 * allocates little more than the text's size, and the C library's qsort may copy an array of its keys.
 */
int sbn__tensor_header_parse(sbn_tensor_header *header, char *text, size_t length,
                             uint64_t data_size, const char *path);
void sbn__tensor_header_free(sbn_tensor_header *header);

/* Returns NULL if no tensor has the name. */
const sbn_tensor *sbn__tensor_header_find(const sbn_tensor_header *header, const char *name);
