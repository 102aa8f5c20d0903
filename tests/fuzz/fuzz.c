#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <syncbn/error.h>

#include "program/cache.h"
#include "support/folder.h"

void fuzz_must(int condition)
{
    if (!condition)
        abort();
}

int judged(int status)
{
    fuzz_must(status <= 0 && !status == !*sbn_last_error());
    fuzz_must(*sbn_strerror(status) && *sbn_status_name(status));
    return status;
}

/* A file, or a folder with one. */
static void remove_path(void)
{
    char file[512] = "";
    const char *path = fuzz_path();
    folder_names(path, file);
    unlink(file);
    if (rmdir(path) != 0)
        unlink(path);
}

const char *fuzz_path(void)
{
    static char path[80];
    const char *temporary = getenv("TMPDIR");
    if (!*path)
        atexit(remove_path);
    snprintf(path, sizeof path, "%.40s/syncbn-fuzz-%ld", temporary ? temporary : "/tmp",
             (long)getpid());
    return path;
}

int fuzz_folder(void)
{
    const int folder = sbn__cache_open(fuzz_path(), 1);
    fuzz_must(folder >= 0);
    return folder;
}

void fuzz_write(int folder, const char *name, const void *bytes, size_t size)
{
    const int file = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_must(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    close(file);
}

uint8_t fuzz_byte(fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

uint32_t fuzz_word(fuzz_input *in)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i)
        word = word << 8 | fuzz_byte(in);
    return word;
}
