/* The header of a safetensors file: nothing that it says is believed before it is checked. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/safetensors.h"

static const sbn_tensor_type types[] = {
    {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};

const sbn_tensor_type *sbn__tensor_type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

sbn_shown sbn__show(const char *name)
{
    sbn_shown shown;
    const int length = snprintf(shown.text, sizeof shown.text, "%s", name);
    for (char *c = shown.text; *c; ++c)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    if (length >= (int)sizeof shown.text)
        strcpy(shown.text + sizeof shown.text - 4, "...");
    return shown;
}

sbn_shown sbn__show_shape(const json_t *shape)
{
    sbn_shown shown = {"["};
    size_t used = 1;
    for (size_t i = 0; i < json_array_size(shape) && used < sizeof shown.text - 24; ++i)
        used += (size_t)snprintf(shown.text + used, sizeof shown.text - used,
                                 i ? ", %" JSON_INTEGER_FORMAT : "%" JSON_INTEGER_FORMAT,
                                 json_integer_value(json_array_get(shape, i)));
    strcpy(shown.text + used, "]");
    return shown;
}

static int fail(const char *path, const char *name, const char *what)
{
    return sbn__fail(SBN_INVALID_FILE, "%s: tensor \"%s\": %s", path, sbn__show(name).text, what);
}

/* a *= b without overflow? */
static int multiply(uint64_t *a, uint64_t b)
{
    if (b != 0 && *a > UINT64_MAX / b)
        return 0;
    *a *= b;
    return 1;
}

/* An integer from 0? */
static int natural(const json_t *value, uint64_t *number)
{
    const json_int_t integer = json_integer_value(value);
    *number = (uint64_t)integer;
    return json_is_integer(value) && integer >= 0;
}

static int parse_shape(sbn_tensor *tensor, const char *path)
{
    uint64_t extent, bits;
    tensor->elements = 1;
    if (!json_is_array(tensor->shape))
        return fail(path, tensor->name, "shape: an array was expected");
    for (size_t i = 0; i < json_array_size(tensor->shape); ++i) {
        if (!natural(json_array_get(tensor->shape, i), &extent))
            return fail(path, tensor->name, "shape: integers from 0 were expected");
        if (!multiply(&tensor->elements, extent))
            return fail(path, tensor->name, "shape: its elements are too many");
    }
    bits = tensor->elements;
    if (!multiply(&bits, tensor->type->bits) || bits % 8 != 0)
        return fail(path, tensor->name, "shape: its size is no number of bytes");
    if (tensor->end - tensor->begin != bits / 8)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: tensor \"%s\": data_offsets: %" PRIu64 " bytes were expected for %s "
                         "of %s, %" PRIu64 " came",
                         path, sbn__show(tensor->name).text, bits / 8, tensor->type->name,
                         sbn__show_shape(tensor->shape).text, tensor->end - tensor->begin);
    return SBN_SUCCESS;
}

static int parse_tensor(sbn_tensor *tensor, const char *name, const json_t *value,
                        uint64_t data_size, const char *path)
{
    const json_t *type = json_object_get(value, "dtype");
    const json_t *offsets = json_object_get(value, "data_offsets");
    *tensor = (sbn_tensor){.name = name, .shape = json_object_get(value, "shape")};
    if (!json_is_object(value) || json_object_size(value) != 3 || !type || !offsets ||
        !tensor->shape)
        return fail(path, name, "dtype, shape and data_offsets, and nothing else, were expected");
    if (json_is_string(type))
        tensor->type = sbn__tensor_type_named(json_string_value(type));
    if (!tensor->type)
        return fail(path, name, "dtype: it is not known");
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !natural(json_array_get(offsets, 0), &tensor->begin) ||
        !natural(json_array_get(offsets, 1), &tensor->end))
        return fail(path, name, "data_offsets: two integers from 0 were expected");
    if (tensor->begin > tensor->end || tensor->end > data_size)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: tensor \"%s\": data_offsets: [%" PRIu64 ", %" PRIu64
                         "] came, of %" PRIu64 " bytes of data",
                         path, sbn__show(name).text, tensor->begin, tensor->end, data_size);
    return parse_shape(tensor, path);
}

static int parse_metadata(json_t *metadata, const char *path)
{
    const char *key;
    json_t *value;
    int good = json_is_object(metadata);
    json_object_foreach(metadata, key, value) good = good && json_is_string(value);
    return good ? SBN_SUCCESS
                : sbn__fail(SBN_INVALID_FILE, "%s: __metadata__: an object of strings was expected",
                            path);
}

static int by_place(const void *a, const void *b)
{
    const sbn_tensor *one = a, *two = b;
    if (one->begin != two->begin)
        return one->begin < two->begin ? -1 : 1;
    return (one->end > two->end) - (one->end < two->end);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const sbn_tensor *)a)->name, ((const sbn_tensor *)b)->name);
}

/* Back to back, from the first byte to the last. */
static int check_places(const sbn_tensor_header *header, uint64_t data_size, const char *path)
{
    uint64_t end = 0;
    for (size_t i = 0; i < header->count; ++i) {
        const sbn_tensor *tensor = &header->tensors[i];
        if (tensor->begin < end)
            return fail(path, tensor->name, "data_offsets: it overlaps another tensor");
        if (tensor->begin > end)
            return fail(path, tensor->name, "data_offsets: there is a gap before it");
        end = tensor->end;
    }
    if (end != data_size)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: %" PRIu64 " bytes of data were expected, %" PRIu64 " came", path, end,
                         data_size);
    return SBN_SUCCESS;
}

static int parse_root(sbn_tensor_header *header, uint64_t data_size, const char *path)
{
    const char *key;
    json_t *value;
    header->tensors = sbn__allocate(sizeof *header->tensors * json_object_size(header->root));
    if (!header->tensors)
        return sbn__fail_memory("a file's header");
    json_object_foreach(header->root, key, value)
    {
        int status;
        if (strcmp(key, "__metadata__") == 0) {
            header->metadata = value;
            status = parse_metadata(value, path);
        } else {
            status = parse_tensor(&header->tensors[header->count++], key, value, data_size, path);
        }
        if (status)
            return status;
    }
    qsort(header->tensors, header->count, sizeof *header->tensors, by_place);
    const int status = check_places(header, data_size, path);
    qsort(header->tensors, header->count, sizeof *header->tensors, by_name);
    return status;
}

int sbn__tensor_header_length(const unsigned char first[8], uint64_t file_size, const char *path,
                              uint64_t *length)
{
    *length = 0;
    for (int i = 0; i < 8; ++i)
        *length |= (uint64_t)first[i] << 8 * i;
    if (*length > SBN_TENSOR_HEADER_LIMIT)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: a header of %u bytes at most was expected, one of %" PRIu64 " came",
                         path, SBN_TENSOR_HEADER_LIMIT, *length);
    if (*length < 2 || file_size < 8 || *length > file_size - 8)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: its header is said to have %" PRIu64 " bytes, the file has %" PRIu64,
                         path, *length, file_size);
    return SBN_SUCCESS;
}

int sbn__tensor_header_parse(sbn_tensor_header *header, const char *text, size_t length,
                             uint64_t data_size, const char *path)
{
    json_error_t error;
    *header = (sbn_tensor_header){0};
    if (length == 0 || *text != '{')
        return sbn__fail(SBN_INVALID_FILE, "%s: its header does not begin with {", path);
    header->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!header->root && json_error_code(&error) == json_error_out_of_memory)
        return sbn__fail_memory("a file's header");
    if (!header->root)
        return sbn__fail(SBN_INVALID_FILE, "%s: its header is no JSON: byte %d: %s", path,
                         error.position, sbn__show(error.text).text);
    const int status = parse_root(header, data_size, path);
    if (status)
        sbn__tensor_header_free(header);
    return status;
}

void sbn__tensor_header_free(sbn_tensor_header *header)
{
    sbn__free(header->tensors);
    json_decref(header->root);
    *header = (sbn_tensor_header){0};
}

const sbn_tensor *sbn__tensor_header_find(const sbn_tensor_header *header, const char *name)
{
    const sbn_tensor wanted = {.name = name};
    return header->count
               ? bsearch(&wanted, header->tensors, header->count, sizeof *header->tensors, by_name)
               : NULL;
}
