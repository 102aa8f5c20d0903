#include "safetensors/file_kind.h"

#include <string.h>

#include "base/text.h"

typedef struct magic {
    size_t offset;
    const char *bytes; /* none of them 0 */
    const char *kind;
} magic;

#define CONVERT "; convert it with safetensors.torch.save_file"

/* The first match counts. */
static const magic magics[] = {
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19",
     "a file of torch.save from before PyTorch 1.6" CONVERT},
    {0, "\x80\x02", "a Python pickle"},
    {0, "\x80\x03", "a Python pickle"},
    {0, "\x80\x04", "a Python pickle"},
    {0, "\x80\x05", "a Python pickle"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes"},
    {0, "\x93NUMPY", "a NumPy array"},
    {0, "GGUF", "a GGUF file"},
    {0, "\x89PNG\r\n\x1a\n", "a PNG image"},
    {0, "\xff\xd8\xff", "a JPEG image"},
    {0, "%PDF-", "a PDF document"},
    {0, "\177ELF", "an ELF program or library"},
    {4, "TFL3", "a TensorFlow Lite model"},
    {257, "ustar", "a tar archive"},
    {0, "\x1f\x8b", "a file compressed by gzip"},
    {0, "BZh", "a file compressed by bzip2"},
    {0, "\3757zXZ", "a file compressed by xz"},
    {0, "\x28\xb5\x2f\xfd", "a file compressed by zstd"},
    {0, "version https://git-lfs.github.com/spec/",
     "a Git LFS pointer: the file itself has not been downloaded"},
    {0, "<!DOCTYPE html", "an HTML page"},
    {0, "<!doctype html", "an HTML page"},
    {0, "<html", "an HTML page"},
};

static int holds(const unsigned char *start, size_t size, const char *text)
{
    return memmem(start, size, text, strlen(text)) != NULL;
}

/* The name of its first entry tells; it is in its first bytes. */
static const char *kind_of_zip(const unsigned char *start, size_t size)
{
    if (holds(start, size, "data.pkl"))
        return "a file of torch.save, a ZIP archive" CONVERT;
    return holds(start, size, ".npy") ? "a NumPy archive (.npz)" : "a ZIP archive";
}

/* UTF-8 without control characters other than white space; the last character may be cut. */
static int is_text(const unsigned char *start, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t c;
        length = sbn__utf8_decode((const char *)start + at, size - at, &c);
        if (length == 0)
            return size - at < 4;
        if (c == 0 || c == 127 || (c < 32 && !strchr("\t\n\f\r", (int)c)))
            return 0;
    }
    return 1;
}

static const char *kind_of_text(const unsigned char *start, size_t size)
{
    size_t first = 0;
    while (first < size && strchr(" \t\n\r", start[first]))
        ++first;
    if (first == size || (start[first] != '{' && start[first] != '['))
        return "a text";
    return holds(start, size, "\"weight_map\"")
               ? "the index of several safetensors files; name one of those"
               : "a JSON text";
}

const char *sbn__file_kind(const unsigned char *start, size_t size)
{
    if (size == 0)
        return "an empty file";
    for (size_t i = 0; i < sizeof magics / sizeof *magics; ++i) {
        const magic *m = &magics[i];
        const size_t length = strlen(m->bytes);
        if (size >= m->offset + length && memcmp(start + m->offset, m->bytes, length) == 0)
            return m->kind;
    }
    if (size >= 4 && memcmp(start, "PK\x03\x04", 4) == 0)
        return kind_of_zip(start, size);
    if (is_text(start, size))
        return kind_of_text(start, size);
    /* The first byte is zero, and each one is as the one behind it. */
    const int zeros = start[0] == 0 && memcmp(start, start + 1, size - 1) == 0;
    return zeros ? "a file that begins with zeros" : NULL;
}
