#include "program/cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"

/* --- the folder ------------------------------------------------------------------------- */

/* What was opened, if only this user can have written it; else -1, and it is closed. */
static int private_one(int file, mode_t type, struct stat *found)
{
    if (file >= 0 && (fstat(file, found) != 0 || (found->st_mode & S_IFMT) != type ||
                      found->st_uid != geteuid() || found->st_mode & (S_IWGRP | S_IWOTH))) {
        close(file);
        return -1;
    }
    return file;
}

static int open_folder(const char *path, int make)
{
    struct stat found;
    if (make)
        mkdir(path, S_IRWXU); /* if it exists, the check below decides */
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return private_one(folder, S_IFDIR, &found);
}

/* syncbn in a folder, which is made, too, if it is missing. */
static int open_below(const char *parent, int make)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/syncbn", parent);
    if (parent[0] != '/' || (size_t)length >= sizeof path)
        return -1;
    if (make)
        mkdir(parent, S_IRWXU);
    return open_folder(path, make);
}

int sbn__cache_open(const char *folder, int make)
{
    if (folder)
        return *folder ? open_folder(folder, make) : -1;
    const char *cache = secure_getenv("XDG_CACHE_HOME");
    if (cache && *cache)
        return open_below(cache, make);
    const char *home = secure_getenv("HOME");
    char path[4096];
    if (!home)
        return -1;
    snprintf(path, sizeof path, "%s/.cache", home);
    return open_below(path, make); /* which refuses one that has been cut off */
}

void sbn__cache_close(int folder)
{
    if (folder >= 0)
        close(folder);
}

/* --- its files -------------------------------------------------------------------------- */

static int write_all(int file, const void *from, size_t size)
{
    return write(file, from, size) == (ssize_t)size;
}

/* The head of a file; key and value follow. */
typedef struct head {
    char magic[16];
    uint64_t key_size, value_size;
    uint64_t checksum; /* of key and value */
} head;

static const char magic[] = "syncbn cache 001";

void sbn__bytes_free(sbn_bytes *bytes)
{
    sbn__free(bytes->at);
    *bytes = (sbn_bytes){0};
}

void sbn__cache_name(char name[SBN_CACHE_NAME], const char *what, const sbn_bytes *key)
{
    snprintf(name, SBN_CACHE_NAME, "%016" PRIx64 ".%s",
             sbn__digest(SBN_DIGEST_START, key->at, key->size), what);
}

int sbn__cache_load(int folder, const char *what, const sbn_bytes *key, sbn_bytes *value)
{
    char name[SBN_CACHE_NAME];
    struct stat s;
    head h;
    *value = (sbn_bytes){0};
    sbn__cache_name(name, what, key);
    /* Non-blocking, in case it is a pipe. */
    const int file = private_one(openat(folder, name,
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
                                 S_IFREG, &s);
    if (file < 0)
        return 0;
    const size_t size = (size_t)s.st_size, before = sizeof h + key->size;
    unsigned char *all = size >= before ? sbn__allocate(size) : NULL;
    /* In one call: a file that is read in part counts as missing. */
    int good = all && read(file, all, size) == (ssize_t)size;
    close(file);
    if (good) {
        memcpy(&h, all, sizeof h);
        good = memcmp(h.magic, magic, sizeof h.magic) == 0 && h.key_size == key->size &&
               h.value_size == size - before && memcmp(all + sizeof h, key->at, key->size) == 0 &&
               h.checksum == sbn__digest(SBN_DIGEST_START, all + sizeof h, size - sizeof h);
    }
    if (!good) {
        sbn__free(all);
        return 0;
    }
    *value = (sbn_bytes){all, size - before};
    memmove(all, all + before, value->size);
    return 1;
}

int sbn__cache_store(int folder, const char *what, const sbn_bytes *key, const sbn_bytes *value)
{
    static atomic_uint number;
    char name[SBN_CACHE_NAME], temporary[64];
    head h = {.key_size = key->size, .value_size = value->size};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = sbn__digest(SBN_DIGEST_START, key->at, key->size);
    h.checksum = sbn__digest(h.checksum, value->at, value->size);
    sbn__cache_name(name, what, key);
    snprintf(temporary, sizeof temporary, "%ld.%u.tmp", (long)getpid(),
             atomic_fetch_add(&number, 1));
    /* A file left by an earlier process of the same number. */
    unlinkat(folder, temporary, 0);
    const int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
    if (file < 0)
        return 0;
    int good = write_all(file, &h, sizeof h) && write_all(file, key->at, key->size) &&
               write_all(file, value->at, value->size);
    good = close(file) == 0 && good;
    if (good && renameat(folder, temporary, folder, name) == 0)
        return 1;
    unlinkat(folder, temporary, 0);
    return 0;
}
