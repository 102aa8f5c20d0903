/*
 * What is kept on disk by a key, in the cache's folder: compiled programs, tuned numbers. A file is named
 * by a hash of its key and by what it keeps, "program", and holds the whole key, a checksum and the value;
 * a file that does not match is ignored. Errors are silent: what is not found is made anew.
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

/* "0123456789abcdef.program" */
enum { SBN_CACHE_NAME = 32 };
void sbn__cache_name(char name[SBN_CACHE_NAME], const char *what, const sbn_bytes *key);

/* The value stored for a key; 0 if there is none. The second returns 1 if it is there now. */
int sbn__cache_load(int folder, const char *what, const sbn_bytes *key, sbn_bytes *value);
int sbn__cache_store(int folder, const char *what, const sbn_bytes *key, const sbn_bytes *value);

#endif
