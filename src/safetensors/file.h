/* Reads a safetensors file, tensor by tensor; other tensors are not read. */
#pragma once

#include "safetensors/header.h"

/* A file that is open for reading. */
typedef struct sbn_tensor_file {
    int file;
    char *path;
    uint64_t data; /* where it begins */
    char *text;    /* the header's */
    sbn_tensor_header header;
} sbn_tensor_file;

int sbn__tensor_file_open(sbn_tensor_file *file, const char *path);
void sbn__tensor_file_close(sbn_tensor_file *file);

/* `size` bytes from `offset` of a tensor's data. */
int sbn__tensor_read(const sbn_tensor_file *file, const sbn_tensor *tensor, uint64_t offset,
                     void *to, size_t size);

/* All elements of a real tensor; the one of an I64 tensor. */
int sbn__tensor_read_floats(const sbn_tensor_file *file, const sbn_tensor *tensor, float *to);
int sbn__tensor_read_integer(const sbn_tensor_file *file, const sbn_tensor *tensor, int64_t *to);
