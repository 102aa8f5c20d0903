/*
 * A file that appears complete or not at all: it is written as a draft in the same folder, readable
 * by its owner alone, and renamed at the end.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

typedef struct sbn_draft {
    int file;
    int folder;       /* of the draft and of the file */
    char *path;       /* the file's, links followed; its last part begins at `name` */
    const char *name; /* the file's name in the folder */
    char draft[sizeof "syncbn-9223372036854775807-4294967295.tmp"]; /* its name there; "": none */
    int replaces;     /* 1: a file exists, whose owner and group the draft gets */
    struct stat info; /* of that file, else of any new one; the draft gets its mode */
} sbn_draft;

/* Needs sbn__draft_close, whatever it returns. */
int sbn__draft_open(sbn_draft *d, const char *path);

int sbn__draft_write(const sbn_draft *d, const void *from, size_t size);

/* With SBN_SUCCESS renames the draft to the file, else removes it. Returns that status or an error. */
int sbn__draft_close(sbn_draft *d, int status);
