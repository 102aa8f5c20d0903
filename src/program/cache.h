/*
 * Compiled programs on disk, in the cache's folder. A file is named by a hash of its key and holds the
 * whole key, a checksum and the binary; a file that does not match is ignored. Errors are silent: the
 * program is then built from source.
 */
#ifndef SBN_PROGRAM_CACHE_H
#define SBN_PROGRAM_CACHE_H

#include "program/cache_folder.h"

/* A block of sbn__allocate. */
typedef struct sbn_bytes {
    unsigned char *at;
    size_t size;
} sbn_bytes;

void sbn__bytes_free(sbn_bytes *bytes);

/* The binary stored for a key; 0 if there is none. */
int sbn__cache_load(int folder, const sbn_bytes *key, sbn_bytes *binary);
void sbn__cache_store(int folder, const sbn_bytes *key, const sbn_bytes *binary);

#endif
