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

/* In one call: a file that is read or written in part counts as missing. */
static int read_all(int file, void *to, size_t size)
{
    return read(file, to, size) == (ssize_t)size;
}

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

static uint64_t checksum(const sbn_bytes *key, const sbn_bytes *value)
{
    const uint64_t of_key = sbn__digest(SBN_DIGEST_START, key->at, key->size);
    return sbn__digest(of_key, value->at, value->size);
}

/* Reads a file with a key of this size into new blocks, after checking its sizes. */
static int read_file(int file, off_t size, size_t of_key, head *h, sbn_bytes *key, sbn_bytes *value)
{
    const uint64_t left = (uint64_t)size - sizeof *h;
    if (!read_all(file, h, sizeof *h) || memcmp(h->magic, magic, sizeof h->magic) != 0 ||
        h->key_size != of_key || h->key_size + h->value_size != left)
        return 0;
    *key = (sbn_bytes){sbn__allocate((size_t)h->key_size), (size_t)h->key_size};
    *value = (sbn_bytes){sbn__allocate((size_t)h->value_size), (size_t)h->value_size};
    return key->at && value->at && read_all(file, key->at, key->size) &&
           read_all(file, value->at, value->size);
}

int sbn__cache_load(int folder, const char *what, const sbn_bytes *key, sbn_bytes *value)
{
    char name[SBN_CACHE_NAME];
    struct stat s;
    *value = (sbn_bytes){0};
    sbn__cache_name(name, what, key);
    /* Non-blocking, in case it is a pipe. */
    const int file = private_one(openat(folder, name,
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
                                 S_IFREG, &s);
    if (file < 0)
        return 0;
    head h;
    sbn_bytes found = {0};
    const int good = read_file(file, s.st_size, key->size, &h, &found, value) &&
                     memcmp(found.at, key->at, key->size) == 0 &&
                     h.checksum == checksum(key, value);
    close(file);
    sbn__bytes_free(&found);
    if (!good)
        sbn__bytes_free(value);
    return good;
}

int sbn__cache_store(int folder, const char *what, const sbn_bytes *key, const sbn_bytes *value)
{
    static atomic_uint number;
    char name[SBN_CACHE_NAME], temporary[64];
    head h = {.key_size = key->size, .value_size = value->size};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = checksum(key, value);
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
