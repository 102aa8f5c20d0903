/* Writing a safetensors file: its header, then the data, new or copied from the base. */
#include <stdlib.h>
#include <string.h>

#include "model/draft.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/safetensors.h"

/* Larger types first: all data is aligned, as it begins at a multiple of 8. */
static int by_alignment(const void *a, const void *b)
{
    const sbn_new_tensor *one = a, *two = b;
    if (one->type->bits != two->type->bits)
        return one->type->bits > two->type->bits ? -1 : 1;
    return strcmp(one->name, two->name);
}

static int write_header(const sbn_draft *d, const sbn_tensor_metadata *metadata,
                        const sbn_new_tensor *tensors, size_t count)
{
    size_t length = 0;
    char *text = sbn__tensor_header_text(metadata, tensors, count, &length);
    if (!text)
        return sbn__fail_memory("a file's header");
    unsigned char first[8];
    for (int i = 0; i < 8; ++i)
        first[i] = (unsigned char)((uint64_t)length >> 8 * i);
    int status = length > SBN_TENSOR_HEADER_LIMIT
                     ? sbn__fail(SBN_INVALID_FILE, "%s: its header would have %zu bytes, %u may be",
                                 d->path, length, SBN_TENSOR_HEADER_LIMIT)
                     : sbn__draft_write(d, first, sizeof first);
    if (!status)
        status = sbn__draft_write(d, text, length);
    sbn__free(text);
    return status;
}

static int copy(const sbn_draft *d, const sbn_tensor_file *base, const sbn_tensor *from)
{
    enum { PIECE = 1 << 20 };
    char *piece = sbn__allocate(PIECE);
    int status = piece ? SBN_SUCCESS : sbn__fail_memory("copying a tensor");
    const uint64_t size = from->end - from->begin;
    for (uint64_t done = 0; done < size && !status;) {
        const size_t part = size - done < PIECE ? (size_t)(size - done) : PIECE;
        status = sbn__tensor_read(base, from, done, piece, part);
        if (!status)
            status = sbn__draft_write(d, piece, part);
        done += part;
    }
    sbn__free(piece);
    return status;
}

int sbn__tensor_file_write(const char *path, const sbn_tensor_file *base,
                           const sbn_tensor_metadata *metadata, sbn_new_tensor *tensors,
                           size_t count)
{
    sbn_draft d;
    int status = sbn__draft_open(&d, path);
    if (count > 0)
        qsort(tensors, count, sizeof *tensors, by_alignment);
    if (!status)
        status = write_header(&d, metadata, tensors, count);
    for (size_t i = 0; i < count && !status; ++i)
        status = tensors[i].data ? sbn__draft_write(&d, tensors[i].data, (size_t)tensors[i].size)
                                 : copy(&d, base, tensors[i].from);
    return sbn__draft_close(&d, status);
}
