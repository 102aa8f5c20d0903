/*
 * What is kept on disk by a key, so that later processes need not find it out again: compiled programs, tuned
 * numbers. A file is named by a hash of its key and by what it keeps, "program", and holds the whole key, a checksum
 * and the value; a file that does not match is ignored. Errors are silent: what is not found is made anew.
 *
 * Only this user can write to the folder, and a file that others could have written is not read. Files are written by
 * rename, so that several processes may write the same one.
 */
#pragma once

#include <stddef.h>

/*
 * Opens the folder, which `make` makes if it is missing; NULL: $XDG_CACHE_HOME/syncbn or
 * ~/.cache/syncbn, and none in a program that runs with another user's rights. Returns a
 * descriptor, or -1: no folder, an empty name, or a folder that others own or can write to.
 */
int sbn__cache_open(const char *folder, int make);
void sbn__cache_close(int folder);

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
