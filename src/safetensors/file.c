#include "safetensors/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "safetensors/file_kind.h"
#include "safetensors/retry.h"

static int fail(const char *path, const char *what)
{
    return sbn__fail(SBN_IO_ERROR, "%s: %s: %s", path, what, strerror(errno));
}

static int read_at(const sbn_tensor_file *file, uint64_t offset, void *to, size_t size)
{
    unsigned char *place = to;
    while (size > 0) {
        ssize_t got;
        SBN_RETRY(got, pread(file->file, place, size, (off_t)offset));
        if (got < 0)
            return fail(file->path, "reading it");
        if (got == 0)
            return sbn__fail(SBN_INVALID_FILE, "%s: it has become shorter", file->path);
        place += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return SBN_SUCCESS;
}

/* Says what a refused file is instead, if its first bytes show it. */
static int refuse(const sbn_tensor_file *file, int status, uint64_t size)
{
    unsigned char start[SBN_FILE_KIND_SIZE] = {0};
    char sentence[SBN_SENTENCE_SIZE];
    const size_t count = size < sizeof start ? (size_t)size : sizeof start;
    if (!status)
        return SBN_SUCCESS;
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    status = read_at(file, 0, start, count);
    if (status)
        return status;
    /* A length and JSON: a safetensors file that is cut. */
    if (start[8] == '{' && memcmp(start + 4, "\0\0\0", 4) == 0 &&
        sbn__little_endian(start, 8) > size - 8 &&
        sbn__little_endian(start, 8) <= SBN_TENSOR_HEADER_LIMIT)
        return sbn__fail(SBN_INVALID_FILE, "%s: the file is truncated", sentence);
    const char *kind = sbn__file_kind(start, count);
    return kind ? sbn__fail(SBN_INVALID_FILE, "%s: expected a safetensors file, got %s", file->path,
                            kind)
                : sbn__fail(SBN_INVALID_FILE, "%s", sentence);
}

static int read_header(sbn_tensor_file *file)
{
    struct stat info;
    unsigned char first[8];
    uint64_t length;
    if (fstat(file->file, &info) != 0)
        return fail(file->path, "asking for its size");
    if (!S_ISREG(info.st_mode))
        return sbn__fail(SBN_IO_ERROR, "%s: it is not a regular file", file->path);
    const uint64_t size = (uint64_t)info.st_size;
    if (size < 8)
        return refuse(file,
                      sbn__fail(SBN_INVALID_FILE, "%s: expected at least 8 bytes, got %d",
                                file->path, (int)size),
                      size);
    int status = read_at(file, 0, first, sizeof first);
    if (!status)
        status = refuse(file, sbn__tensor_header_length(first, size, file->path, &length), size);
    if (status)
        return status;
    file->text = sbn__allocate((size_t)length);
    if (!file->text)
        return sbn__fail_memory("a file's header");
    file->data = 8 + length;
    status = read_at(file, 8, file->text, (size_t)length);
    if (status)
        return status;
    status = sbn__tensor_header_parse(&file->header, file->text, (size_t)length, size - file->data,
                                      file->path);
    return *file->text == '{' ? status : refuse(file, status, size);
}

int sbn__tensor_file_open(sbn_tensor_file *file, const char *path)
{
    *file = (sbn_tensor_file){.file = -1};
    if (!path)
        return sbn__fail(SBN_INVALID_ARGUMENT, "path: expected a file's name, got NULL");
    file->path = sbn__text_copy(path, strlen(path));
    if (!file->path)
        return sbn__fail_memory("a file's name");
    /* Non-blocking, in case it is a pipe. */
    SBN_RETRY(file->file, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const int status = file->file < 0 ? fail(path, "opening it") : read_header(file);
    if (status)
        sbn__tensor_file_close(file);
    return status;
}

void sbn__tensor_file_close(sbn_tensor_file *file)
{
    sbn__tensor_header_free(&file->header);
    sbn__free(file->text);
    if (file->file >= 0)
        close(file->file);
    sbn__free(file->path);
    *file = (sbn_tensor_file){.file = -1};
}

int sbn__tensor_read(const sbn_tensor_file *file, const sbn_tensor *tensor, uint64_t offset,
                     void *to, size_t size)
{
    return read_at(file, file->data + tensor->begin + offset, to, size);
}

int sbn__tensor_read_floats(const sbn_tensor_file *file, const sbn_tensor *tensor, float *to)
{
    const size_t size = (size_t)(tensor->end - tensor->begin);
    unsigned char *bytes = sbn__allocate(size);
    if (!bytes)
        return sbn__fail_memory("a tensor");
    const int status = sbn__tensor_read(file, tensor, 0, bytes, size);
    for (size_t i = 0; !status && i < tensor->elements; ++i)
        to[i] = sbn__tensor_decode(tensor->type, bytes + sbn__tensor_size(tensor->type, i));
    sbn__free(bytes);
    return status;
}

int sbn__tensor_read_integer(const sbn_tensor_file *file, const sbn_tensor *tensor, int64_t *to)
{
    unsigned char bytes[8];
    const int status = sbn__tensor_read(file, tensor, 0, bytes, sizeof bytes);
    if (!status)
        *to = (int64_t)sbn__little_endian(bytes, sizeof bytes);
    return status;
}
