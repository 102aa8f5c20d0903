/*
 * The folder that keeps what later processes need not find out again: compiled programs (cache.h) and
 * tuned numbers (src/device/tuning.h). Only this user can write to it, and a file that others could have written
 * is not read. Files are written by rename, so that several processes may write the same one.
 */
#ifndef SBN_PROGRAM_CACHE_FOLDER_H
#define SBN_PROGRAM_CACHE_FOLDER_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Opens `folder` and makes it if it is missing; NULL: $XDG_CACHE_HOME/syncbn or ~/.cache/syncbn,
 * and none in a program that runs with another user's rights. Returns a descriptor, or -1: no
 * folder, an empty name, or a folder that others own or can write to.
 */
int sbn__cache_open(const char *folder);
/* Opens the folder without making it. */
int sbn__cache_find(const char *folder);
void sbn__cache_close(int folder);

/* A descriptor of a file to be read, and its size; -1: none that only this user can have written. */
int sbn__cache_file_open(int folder, const char *name, off_t *size);

/* 1 if there were so many bytes. */
int sbn__cache_file_read(int file, void *to, size_t size);

typedef struct sbn_cache_part {
    const void *at;
    size_t size;
} sbn_cache_part;

/* Writes a file of these parts; 1 if it is there, else there is what was before. */
int sbn__cache_file_write(int folder, const char *name, const sbn_cache_part *parts, size_t count);

#endif
