#include "safetensors/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "safetensors/draft.h"

/* --- the header: measured first, then written to one block ------------------------------- */

/* Takes text; if `to` is NULL, the text is only measured. */
typedef struct sink {
    char *to;
    size_t length;
} sink;

static void put(sink *s, const char *text)
{
    const size_t length = strlen(text);
    if (s->to)
        memcpy(s->to + s->length, text, length);
    s->length += length;
}

/* UTF-8 is copied; characters that JSON does not allow in strings are escaped. */
static void put_string(sink *s, const char *text)
{
    static const char characters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    put(s, "\"");
    for (; *text; ++text) {
        char written[sizeof "\\u0000"] = {*text};
        const char *found = strchr(characters, *text);
        if (found)
            snprintf(written, sizeof written, "\\%c", escapes[found - characters]);
        else if ((unsigned char)*text < 0x20)
            snprintf(written, sizeof written, "\\u%04x", (unsigned char)*text);
        put(s, written);
    }
    put(s, "\"");
}

static void put_metadata(sink *s, const sbn_tensor_metadata *metadata)
{
    const char *string = metadata->strings;
    put(s, "\"__metadata__\":{");
    for (size_t i = 0; i < 2 * metadata->count; ++i) {
        put(s, i == 0 ? "" : i % 2 ? ":" : ",");
        put_string(s, string);
        string += strlen(string) + 1;
    }
    put(s, "}");
}

static void put_tensor(sink *s, const sbn_new_tensor *tensor, uint64_t begin)
{
    char offsets[sizeof ",\"data_offsets\":[18446744073709551615,18446744073709551615]}"];
    snprintf(offsets, sizeof offsets, ",\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin,
             begin + tensor->size);
    put_string(s, tensor->name);
    put(s, ":{\"dtype\":\"");
    put(s, tensor->type->name);
    put(s, "\",\"shape\":");
    put(s, tensor->shape);
    put(s, offsets);
}

static void put_header(sink *s, const sbn_tensor_metadata *metadata, const sbn_new_tensor *tensors,
                       size_t count)
{
    uint64_t begin = 0;
    put(s, "{");
    if (metadata->strings)
        put_metadata(s, metadata);
    for (size_t i = 0; i < count; ++i) {
        put(s, i > 0 || metadata->strings ? "," : "");
        put_tensor(s, &tensors[i], begin);
        begin += tensors[i].size;
    }
    put(s, "}");
    while (s->length % 8 != 0)
        put(s, " ");
}

char *sbn__tensor_header_text(const sbn_tensor_metadata *metadata, const sbn_new_tensor *tensors,
                              size_t count, size_t *length)
{
    sink s = {NULL, 0};
    put_header(&s, metadata, tensors, count);
    *length = s.length;
    s = (sink){sbn__allocate(*length), 0};
    if (s.to)
        put_header(&s, metadata, tensors, count);
    return s.to;
}

/* --- the file --------------------------------------------------------------------------- */

/* Larger types first: all data is aligned, as it begins at a multiple of 8. */
static int by_alignment(const void *a, const void *b)
{
    const sbn_new_tensor *one = a, *two = b;
    const int order = (one->type->bits < two->type->bits) - (one->type->bits > two->type->bits);
    return order ? order : strcmp(one->name, two->name);
}

static int write_header(const sbn_draft *d, const sbn_tensor_metadata *metadata,
                        const sbn_new_tensor *tensors, size_t count)
{
    size_t length;
    char *text = sbn__tensor_header_text(metadata, tensors, count, &length);
    if (!text)
        return sbn__fail_memory("a file's header");
    unsigned char first[8];
    sbn__put_little_endian(first, length, sizeof first);
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
    char piece[8192];
    int status = SBN_SUCCESS;
    const uint64_t size = from->end - from->begin;
    for (uint64_t done = 0; done < size && !status; done += sizeof piece) {
        const size_t part = size - done < sizeof piece ? (size_t)(size - done) : sizeof piece;
        status = sbn__tensor_read(base, from, done, piece, part);
        if (!status)
            status = sbn__draft_write(d, piece, part);
    }
    return status;
}

int sbn__tensor_file_write(const char *path, const sbn_tensor_file *base,
                           const sbn_tensor_metadata *metadata, sbn_new_tensor *tensors,
                           size_t count)
{
    sbn_draft d;
    int status = sbn__draft_open(&d, path);
    qsort(tensors, count, sizeof *tensors, by_alignment);
    if (!status)
        status = write_header(&d, metadata, tensors, count);
    for (size_t i = 0; i < count && !status; ++i)
        status = tensors[i].data ? sbn__draft_write(&d, tensors[i].data, (size_t)tensors[i].size)
                                 : copy(&d, base, tensors[i].from);
    return sbn__draft_close(&d, status);
}
