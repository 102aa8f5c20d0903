#include "device/cache.h"

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

/* The head of a file; key and binary follow. */
typedef struct head {
    char magic[16];
    uint64_t key_size, binary_size;
    uint64_t checksum; /* of key and binary */
} head;

static const char magic[] = "syncbn program 1";

/* Larger files are not read. */
#define MAX_SIZE ((off_t)1 << 28)

/* "0123456789abcdef.program", and a temporary file's name. */
#define NAME_SIZE 64

void sbn__bytes_free(sbn_bytes *bytes)
{
    sbn__free(bytes->at);
    *bytes = (sbn_bytes){NULL, 0};
}

/* 1 if only this user can have written it. */
static int is_private(int file, mode_t type)
{
    struct stat found;
    return fstat(file, &found) == 0 && (found.st_mode & S_IFMT) == type &&
           found.st_uid == geteuid() && !(found.st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder(const char *path)
{
    mkdir(path, S_IRWXU); /* if it exists, the check below decides */
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && !is_private(folder, S_IFDIR)) {
        close(folder);
        return -1;
    }
    return folder;
}

/* `parent`/`name`, and `parent` too if it is missing. */
static int open_below(const char *parent, const char *name)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", parent, name);
    if (parent[0] != '/' || length < 0 || (size_t)length >= sizeof path)
        return -1;
    mkdir(parent, S_IRWXU);
    return open_folder(path);
}

int sbn__cache_open(const char *folder)
{
    if (folder)
        return *folder ? open_folder(folder) : -1;
    const char *cache = secure_getenv("XDG_CACHE_HOME");
    if (cache && *cache)
        return open_below(cache, "syncbn");
    const char *home = secure_getenv("HOME");
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/.cache", home ? home : "");
    return home && length > 0 && (size_t)length < sizeof path ? open_below(path, "syncbn") : -1;
}

void sbn__cache_close(int folder)
{
    if (folder >= 0)
        close(folder);
}

static void name_of(char name[NAME_SIZE], const sbn_bytes *key)
{
    snprintf(name, NAME_SIZE, "%016" PRIx64 ".program",
             sbn__digest(SBN_DIGEST_START, key->at, key->size));
}

static int read_all(int file, void *to, size_t size)
{
    unsigned char *at = to;
    while (size > 0) {
        const ssize_t count = read(file, at, size);
        if (count <= 0)
            return 0;
        at += count;
        size -= (size_t)count;
    }
    return 1;
}

static int write_all(int file, const void *from, size_t size)
{
    const unsigned char *at = from;
    while (size > 0) {
        const ssize_t count = write(file, at, size);
        if (count <= 0)
            return 0;
        at += count;
        size -= (size_t)count;
    }
    return 1;
}

static uint64_t checksum(const sbn_bytes *key, const sbn_bytes *binary)
{
    const uint64_t of_key = sbn__digest(SBN_DIGEST_START, key->at, key->size);
    return sbn__digest(of_key, binary->at, binary->size);
}

/* Reads a file into new blocks, after checking its sizes. */
static int read_file(int file, head *h, sbn_bytes *key, sbn_bytes *binary)
{
    struct stat found;
    if (!is_private(file, S_IFREG) || fstat(file, &found) || found.st_size > MAX_SIZE ||
        !read_all(file, h, sizeof *h) || memcmp(h->magic, magic, sizeof h->magic) != 0)
        return 0;
    const uint64_t left = (uint64_t)found.st_size - sizeof *h;
    if (h->key_size > left || h->binary_size != left - h->key_size)
        return 0;
    *key = (sbn_bytes){sbn__allocate((size_t)h->key_size), (size_t)h->key_size};
    *binary = (sbn_bytes){sbn__allocate((size_t)h->binary_size), (size_t)h->binary_size};
    return key->at && binary->at && read_all(file, key->at, key->size) &&
           read_all(file, binary->at, binary->size);
}

int sbn__cache_load(int folder, const sbn_bytes *key, sbn_bytes *binary)
{
    char name[NAME_SIZE];
    *binary = (sbn_bytes){NULL, 0};
    name_of(name, key);
    /* Non-blocking, in case it is a pipe. */
    const int file = folder < 0
                         ? -1
                         : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return 0;
    head h;
    sbn_bytes found = {NULL, 0};
    const int good = read_file(file, &h, &found, binary) && found.size == key->size &&
                     memcmp(found.at, key->at, key->size) == 0 &&
                     h.checksum == checksum(key, binary);
    close(file);
    sbn__bytes_free(&found);
    if (!good)
        sbn__bytes_free(binary);
    return good;
}

void sbn__cache_store(int folder, const sbn_bytes *key, const sbn_bytes *binary)
{
    static atomic_uint number;
    char name[NAME_SIZE], temporary[NAME_SIZE];
    if (folder < 0)
        return;
    name_of(name, key);
    snprintf(temporary, sizeof temporary, "%ld.%u.tmp", (long)getpid(),
             atomic_fetch_add(&number, 1));
    /* A file left by an earlier process of the same number. */
    unlinkat(folder, temporary, 0);
    const int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
    if (file < 0)
        return;
    head h = {.key_size = key->size, .binary_size = binary->size};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = checksum(key, binary);
    int good = write_all(file, &h, sizeof h) && write_all(file, key->at, key->size) &&
               write_all(file, binary->at, binary->size);
    good = close(file) == 0 && good;
    if (!good || renameat(folder, temporary, folder, name) != 0)
        unlinkat(folder, temporary, 0);
}
