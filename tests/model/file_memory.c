/*
 * Each allocation of reading, looking into and writing files fails once, the C library's own within
 * realpath and qsort too: SBN_OUT_OF_MEMORY is said, nothing is lost or left, and a success is one.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncbn.h>

#include "base/digest.h"
#include "base/memory.h"
#include "safetensors/write.h"
#include "support/tap.h"

/* --- allocations ------------------------------------------------------------------- */

static int countdown;

static int refuses(void)
{
    if (countdown == 0 || --countdown > 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *__real_sbn__allocate(size_t size);
void *__wrap_sbn__allocate(size_t size);

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return refuses() ? NULL : __libc_realloc(block, size);
}

void *__wrap_sbn__allocate(size_t size)
{
    return __real_sbn__allocate(size);
}

#else

void *__wrap_sbn__allocate(size_t size)
{
    return refuses() ? NULL : __real_sbn__allocate(size);
}

#endif

/* --- what is done -------------------------------------------------------------------- */

static char folder[64], path[80], base[1024];

static int open_file(void)
{
    sbn_tensor_file file;
    const int status = sbn__tensor_file_open(&file, base);
    if (!status)
        sbn__tensor_file_close(&file);
    return status;
}

static int look(void)
{
    sbn_checkpoint *checkpoint;
    float mean[64];
    int64_t batches;
    int status = sbn_checkpoint_create(base, &checkpoint);
    for (size_t i = 0; !status && i < sbn_checkpoint_size(checkpoint); ++i)
        status = sbn_checkpoint_read(checkpoint, i, NULL, NULL, mean, NULL, &batches);
    sbn_checkpoint_destroy(checkpoint);
    return status;
}

/* All of a file, into another or in its own place, without its first tensor. */
static int copy_file(const char *from)
{
    static sbn_new_tensor tensors[64];
    sbn_tensor_file file;
    int status = sbn__tensor_file_open(&file, from);
    if (status)
        return status;
    for (size_t i = 1; i < file.header.count; ++i) {
        const sbn_tensor *old = &file.header.tensors[i];
        tensors[i] = (sbn_new_tensor){old->name, old->type, old->shape, old->end - old->begin,
                                      NULL,      old};
    }
    status = sbn__tensor_file_write(path, &file, &file.header.metadata, tensors + 1,
                                    file.header.count - 1);
    sbn__tensor_file_close(&file);
    return status;
}

static int save(void)
{
    return copy_file(base);
}

static int rewrite(void)
{
    return copy_file(path);
}

/* --- what is checked ------------------------------------------------------------------ */

static uint64_t digest_file(void)
{
    static unsigned char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    return file ? sbn__digest(SBN_DIGEST_START, bytes, size) : 0;
}

static int files_in_folder(void)
{
    DIR *directory = opendir(folder);
    int count = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += *entry->d_name != '.';
    if (directory)
        closedir(directory);
    return count;
}

/* The file as it is before a work begins; 0: there is none. */
static uint64_t begin(int exists)
{
    unlink(path);
    return exists && save() == SBN_SUCCESS ? digest_file() : 0;
}

static void check(const char *name, int (*work)(void), int exists)
{
    const long handles = sbn__handles_open();
    const char *wrong = NULL;
    int n, refused = 0;
    uint64_t before = begin(exists);
    int status = work();
    const uint64_t right = digest_file();
    tap_ok(status == SBN_SUCCESS, "%s: %s", name, sbn_last_error());
    for (n = 1; !wrong; ++n) {
        before = begin(exists);
        countdown = n;
        status = work();
        const int reached = countdown == 0;
        countdown = 0;
        if (!status && digest_file() != right)
            wrong = "success over a wrong file";
        else if (status && status != SBN_OUT_OF_MEMORY)
            wrong = "another status";
        else if (status && !strstr(sbn_last_error(), "memory"))
            wrong = "another sentence";
        else if (status && digest_file() != before)
            wrong = "the file has changed";
        else if (files_in_folder() != (digest_file() != 0))
            wrong = "a file is left";
        if (!reached)
            break;
        refused += status != SBN_SUCCESS;
    }
    tap_ok(!wrong && n > 2 && refused > 1 && sbn__handles_open() == handles,
           "%s: each of %d allocations failed once, %d were reported: %s%s%s; %ld more blocks",
           name, n - 1, refused, wrong ? wrong : "all is well", wrong ? ": " : "",
           wrong ? sbn_last_error() : "", sbn__handles_open() - handles);
}

int main(void)
{
    const char *temporary = getenv("TMPDIR"), *top = getenv("srcdir");
    snprintf(base, sizeof base, "%s/tests/model/data/network_f16.safetensors", top ? top : ".");
    snprintf(folder, sizeof folder, "%.40s/syncbn-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        printf("Bail out! %s cannot be made\n", folder);
        return 99;
    }
    snprintf(path, sizeof path, "%s/file", folder);
    check("open", open_file, 1);
    check("look", look, 1);
    check("save", save, 0);
    check("save over a file", save, 1);
    check("rewrite", rewrite, 1);
    unlink(path);
    tap_ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
