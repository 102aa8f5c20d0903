/* What a file that is refused as safetensors looks like. */
#ifndef SBN_MODEL_FILE_KIND_H
#define SBN_MODEL_FILE_KIND_H

#include <stddef.h>
#include <stdint.h>

/* As many of a file's first bytes are looked at. */
enum { SBN_FILE_KIND_SIZE = 512 };

/* A phrase for the format that the first bytes of a file show; NULL if they show none. */
const char *sbn__file_kind(const unsigned char *start, size_t size);

/* The largest end that the data_offsets of a header name: how many bytes of data a whole file has. */
uint64_t sbn__described_size(const char *header, size_t length);

#endif
