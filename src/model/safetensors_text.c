/* Writes the header of a safetensors file: measured first, then written to one block. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/safetensors.h"

/* Where text goes; NULL: it is only measured. */
typedef struct sink {
    char *to;
    size_t length;
} sink;

static void put_bytes(sink *s, const char *text, size_t length)
{
    if (s->to)
        memcpy(s->to + s->length, text, length);
    s->length += length;
}

static void put(sink *s, const char *text)
{
    put_bytes(s, text, strlen(text));
}

/* UTF-8 is copied; characters that JSON does not allow in strings are escaped. */
static void put_string(sink *s, const char *text)
{
    static const char characters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    put(s, "\"");
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            ++plain;
        put_bytes(s, text, plain);
        text += plain;
        if (!*text)
            break;
        char escape[16] = "\\";
        const char *found = strchr(characters, *text);
        if (found)
            escape[1] = escapes[found - characters];
        else
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*text);
        put(s, escape);
        ++text;
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
    char offsets[80];
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
}

char *sbn__tensor_header_text(const sbn_tensor_metadata *metadata, const sbn_new_tensor *tensors,
                              size_t count, size_t *length)
{
    sink s = {NULL, 0};
    put_header(&s, metadata, tensors, count);
    *length = (s.length + 7) / 8 * 8;
    s = (sink){sbn__allocate(*length), 0};
    if (s.to) {
        put_header(&s, metadata, tensors, count);
        memset(s.to + s.length, ' ', *length - s.length);
    }
    return s.to;
}
