/* Writing a safetensors file: under another name, synced, then renamed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/safetensors.h"

/* The file that is being made. */
typedef struct draft {
    int file;
    char *path;   /* what it will be called */
    char *name;   /* what it is called until then */
    char *folder; /* of both */
} draft;

static int fail(const char *path, const char *what)
{
    return sbn__fail(SBN_IO_ERROR, "%s: %s: %s", path, what, strerror(errno));
}

static int write_all(const draft *d, const void *from, size_t size)
{
    const unsigned char *place = from;
    while (size > 0) {
        const ssize_t put = write(d->file, place, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail(d->name, "writing it");
        place += put;
        size -= (size_t)put;
    }
    return SBN_SUCCESS;
}

/* --- the header ---------------------------------------------------------------- */

/* Larger types first: data that begins at a multiple of 8 stays aligned for each. */
static int by_alignment(const void *a, const void *b)
{
    const sbn_new_tensor *one = a, *two = b;
    if (one->type->bits != two->type->bits)
        return one->type->bits > two->type->bits ? -1 : 1;
    return strcmp(one->name, two->name);
}

static int add_tensor(json_t *root, const sbn_new_tensor *tensor, uint64_t begin)
{
    json_t *value = json_pack("{s:s, s:O, s:[I, I]}", "dtype", tensor->type->name, "shape",
                              tensor->shape, "data_offsets", (json_int_t)begin,
                              (json_int_t)(begin + tensor->size));
    return json_object_set_new(root, tensor->name, value);
}

/* The text, padded with spaces to a multiple of 8; NULL without memory. */
static char *header_text(json_t *metadata, const sbn_new_tensor *tensors, size_t count,
                         size_t *length)
{
    json_t *root = json_object();
    uint64_t begin = 0;
    int failed = !root || (metadata && json_object_set(root, "__metadata__", metadata));
    for (size_t i = 0; i < count && !failed; ++i) {
        failed = add_tensor(root, &tensors[i], begin);
        begin += tensors[i].size;
    }
    const size_t size = failed ? 0 : json_dumpb(root, NULL, 0, JSON_COMPACT);
    char *text = size ? sbn__allocate(size + 8) : NULL;
    if (text && json_dumpb(root, text, size, JSON_COMPACT) == size) {
        *length = (size + 7) / 8 * 8;
        memset(text + size, ' ', *length - size);
    }
    json_decref(root);
    return text;
}

static int write_header(const draft *d, json_t *metadata, const sbn_new_tensor *tensors,
                        size_t count)
{
    size_t length = 0;
    char *text = header_text(metadata, tensors, count, &length);
    if (!text)
        return sbn__fail_memory("a file's header");
    unsigned char first[8];
    for (int i = 0; i < 8; ++i)
        first[i] = (unsigned char)((uint64_t)length >> 8 * i);
    int status = length > SBN_TENSOR_HEADER_LIMIT
                     ? sbn__fail(SBN_INVALID_FILE, "%s: its header would have %zu bytes, %u may be",
                                 d->path, length, SBN_TENSOR_HEADER_LIMIT)
                     : write_all(d, first, sizeof first);
    if (!status)
        status = write_all(d, text, length);
    sbn__free(text);
    return status;
}

/* --- the data ------------------------------------------------------------------- */

static int copy(const draft *d, const sbn_tensor_file *base, const sbn_tensor *from)
{
    enum { PIECE = 1 << 20 };
    char *piece = sbn__allocate(PIECE);
    int status = piece ? SBN_SUCCESS : sbn__fail_memory("copying a tensor");
    const uint64_t size = from->end - from->begin;
    for (uint64_t done = 0; done < size && !status;) {
        const size_t part = size - done < PIECE ? (size_t)(size - done) : PIECE;
        status = sbn__tensor_read(base, from, done, piece, part);
        if (!status)
            status = write_all(d, piece, part);
        done += part;
    }
    sbn__free(piece);
    return status;
}

/* --- the file -------------------------------------------------------------------- */

static char *join(const char *a, const char *b)
{
    char *joined = sbn__allocate(strlen(a) + strlen(b) + 1);
    if (joined) {
        strcpy(joined, a);
        strcat(joined, b);
    }
    return joined;
}

/* A link is followed: what it names is replaced, and not the link. */
static int find_place(draft *d, const char *path)
{
    char *real = realpath(path, NULL);
    d->path = join(real ? real : path, "");
    free(real);
    if (!d->path)
        return sbn__fail_memory("a file's name");
    d->folder = join(d->path, "");
    if (!d->folder)
        return sbn__fail_memory("a file's name");
    char *slash = strrchr(d->folder, '/');
    if (slash)
        slash[slash == d->folder] = '\0';
    else
        strcpy(d->folder, *d->folder ? "." : "");
    return SBN_SUCCESS;
}

static int open_draft(draft *d)
{
    struct stat info;
    const int replaces = stat(d->path, &info) == 0;
    if (replaces && !S_ISREG(info.st_mode))
        return sbn__fail(SBN_IO_ERROR, "%s: it is there and not a regular file", d->path);
    for (unsigned i = 0; i < 1000; ++i) {
        char suffix[48];
        snprintf(suffix, sizeof suffix, ".%ld-%u.tmp", (long)getpid(), i);
        sbn__free(d->name);
        d->name = join(d->path, suffix);
        if (!d->name)
            return sbn__fail_memory("a file's name");
        d->file = open(d->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (d->file >= 0 || errno != EEXIST)
            break;
    }
    if (d->file < 0)
        return fail(d->name, "making it");
    if (replaces && fchmod(d->file, info.st_mode & 07777) != 0)
        return fail(d->name, "giving it the mode of the file that it replaces");
    return SBN_SUCCESS;
}

static int rename_draft(const draft *d)
{
    int status = SBN_SUCCESS;
    const int folder = open(d->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fail(d->folder, "opening the folder");
    if (rename(d->name, d->path) != 0)
        status = fail(d->path, "renaming the new file");
    /* Some file systems have no such thing as a folder's sync. */
    else if (fsync(folder) != 0 && errno != EINVAL)
        status = fail(d->path, "it is new, but syncing its folder");
    close(folder);
    return status;
}

/* Closes the draft and gives it its name, or takes it away. */
static int close_draft(draft *d, int status)
{
    if (d->file >= 0) {
        if (!status && fsync(d->file) != 0)
            status = fail(d->name, "syncing it");
        if (close(d->file) != 0 && !status)
            status = fail(d->name, "closing it");
        if (!status)
            status = rename_draft(d);
        if (status)
            unlink(d->name);
    }
    sbn__free(d->path);
    sbn__free(d->name);
    sbn__free(d->folder);
    return status;
}

int sbn__tensor_file_write(const char *path, const sbn_tensor_file *base, json_t *metadata,
                           sbn_new_tensor *tensors, size_t count)
{
    draft d = {.file = -1};
    int status = find_place(&d, path);
    if (!status)
        status = open_draft(&d);
    if (count > 0)
        qsort(tensors, count, sizeof *tensors, by_alignment);
    if (!status)
        status = write_header(&d, metadata, tensors, count);
    for (size_t i = 0; i < count && !status; ++i)
        status = tensors[i].data ? write_all(&d, tensors[i].data, (size_t)tensors[i].size)
                                 : copy(&d, base, tensors[i].from);
    return close_draft(&d, status);
}
