/*
 * Compiled programs on disk, in a folder that only this user can write to. A file is named by a
 * hash of its key and holds the whole key, a checksum and the binary; a file that does not match is
 * ignored. Files are written by rename, so that several processes may write the same one. Errors
 * are silent: the program is then built from source.
 */
#ifndef SBN_DEVICE_CACHE_H
#define SBN_DEVICE_CACHE_H

#include <stddef.h>

/* A block of sbn__allocate. */
typedef struct sbn_bytes {
    unsigned char *at;
    size_t size;
} sbn_bytes;

void sbn__bytes_free(sbn_bytes *bytes);

/*
 * Opens `folder` and makes it if it is missing; NULL: $XDG_CACHE_HOME/syncbn or ~/.cache/syncbn,
 * and none in a program that runs with another user's rights. Returns a descriptor, or -1: no
 * folder, an empty name, or a folder that others own or can write to.
 */
int sbn__cache_open(const char *folder);
void sbn__cache_close(int folder);

/* The binary stored for a key; 0 if there is none. */
int sbn__cache_load(int folder, const sbn_bytes *key, sbn_bytes *binary);
void sbn__cache_store(int folder, const sbn_bytes *key, const sbn_bytes *binary);

#endif
