#include "program/cache_folder.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name of a temporary file has at most so many characters. */
#define NAME_SIZE 64

/* 1 if only this user can have written it. */
static int is_private(int file, mode_t type, off_t *size)
{
    struct stat found;
    if (fstat(file, &found) != 0 || (found.st_mode & S_IFMT) != type || found.st_uid != geteuid() ||
        found.st_mode & (S_IWGRP | S_IWOTH))
        return 0;
    *size = found.st_size;
    return 1;
}

static int open_folder(const char *path, int make)
{
    off_t size;
    if (make)
        mkdir(path, S_IRWXU); /* if it exists, the check below decides */
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && !is_private(folder, S_IFDIR, &size)) {
        close(folder);
        return -1;
    }
    return folder;
}

/* `parent`/`name`, and `parent` too if it is missing. */
static int open_below(const char *parent, const char *name, int make)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", parent, name);
    if (parent[0] != '/' || length < 0 || (size_t)length >= sizeof path)
        return -1;
    if (make)
        mkdir(parent, S_IRWXU);
    return open_folder(path, make);
}

static int open_cache(const char *folder, int make)
{
    if (folder)
        return *folder ? open_folder(folder, make) : -1;
    const char *cache = secure_getenv("XDG_CACHE_HOME");
    if (cache && *cache)
        return open_below(cache, "syncbn", make);
    const char *home = secure_getenv("HOME");
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/.cache", home ? home : "");
    return home && length > 0 && (size_t)length < sizeof path ? open_below(path, "syncbn", make)
                                                              : -1;
}

int sbn__cache_open(const char *folder)
{
    return open_cache(folder, 1);
}

int sbn__cache_find(const char *folder)
{
    return open_cache(folder, 0);
}

void sbn__cache_close(int folder)
{
    if (folder >= 0)
        close(folder);
}

int sbn__cache_file_open(int folder, const char *name, off_t *size)
{
    /* Non-blocking, in case it is a pipe. */
    const int file = folder < 0
                         ? -1
                         : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && !is_private(file, S_IFREG, size)) {
        close(file);
        return -1;
    }
    return file;
}

int sbn__cache_file_read(int file, void *to, size_t size)
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

static int write_part(int file, const sbn_cache_part *part)
{
    const unsigned char *at = part->at;
    size_t size = part->size;
    while (size > 0) {
        const ssize_t count = write(file, at, size);
        if (count <= 0)
            return 0;
        at += count;
        size -= (size_t)count;
    }
    return 1;
}

int sbn__cache_file_write(int folder, const char *name, const sbn_cache_part *parts, size_t count)
{
    static atomic_uint number;
    char temporary[NAME_SIZE];
    if (folder < 0)
        return 0;
    snprintf(temporary, sizeof temporary, "%ld.%u.tmp", (long)getpid(),
             atomic_fetch_add(&number, 1));
    /* A file left by an earlier process of the same number. */
    unlinkat(folder, temporary, 0);
    const int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
    if (file < 0)
        return 0;
    int good = 1;
    for (size_t i = 0; i < count && good; ++i)
        good = write_part(file, &parts[i]);
    good = close(file) == 0 && good;
    if (good && renameat(folder, temporary, folder, name) == 0)
        return 1;
    unlinkat(folder, temporary, 0);
    return 0;
}
