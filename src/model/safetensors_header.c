/* The header of a safetensors file. Everything in it is checked before it is used. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/memory.h"
#include "model/safetensors_parse.h"

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

static int by_place(const void *context, const void *a, const void *b)
{
    const sbn_tensor *one = a, *two = b;
    (void)context;
    if (one->begin != two->begin)
        return one->begin < two->begin ? -1 : 1;
    return (one->end > two->end) - (one->end < two->end);
}

static int by_name(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const sbn_tensor *)a)->name, ((const sbn_tensor *)b)->name);
}

/* Checks that tensors cover the data without gaps. */
static int check_places(const sbn_tensor_header *header, uint64_t data_size, const char *path)
{
    uint64_t end = 0;
    for (size_t i = 0; i < header->count; ++i) {
        const sbn_tensor *tensor = &header->tensors[i];
        if (tensor->begin < end)
            return sbn__parse_fail(path, tensor->name, "data_offsets: it overlaps another tensor");
        if (tensor->begin > end)
            return sbn__parse_fail(path, tensor->name, "data_offsets: there is a gap before it");
        end = tensor->end;
    }
    if (end != data_size)
        return sbn__fail(SBN_INVALID_FILE, "%s: expected %" PRIu64 " bytes of data, got %" PRIu64,
                         path, end, data_size);
    return SBN_SUCCESS;
}

/* Sorts by place and checks it; then sorts by name, of which none may be a duplicate. */
static int sort_tensors(sbn_tensor_header *header, uint64_t data_size, const char *path)
{
    sbn_tensor *tensors = header->tensors;
    sbn__sort(tensors, header->count, sizeof *tensors, by_place, NULL);
    const int status = check_places(header, data_size, path);
    if (status)
        return status;
    sbn__sort(tensors, header->count, sizeof *tensors, by_name, NULL);
    for (size_t i = 1; i < header->count; ++i)
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0)
            return sbn__parse_fail(path, tensors[i].name, "it is a duplicate key");
    return SBN_SUCCESS;
}

/* Padding must be spaces. */
static int check_padding(sbn_parse *p)
{
    sbn_json_reader *r = &p->reader;
    while (r->at < r->end && *r->at == ' ')
        ++r->at;
    return r->at == r->end ? SBN_SUCCESS
                           : sbn__parse_fail_json(p, "expected nothing but spaces behind it");
}

static int parse_root(sbn_parse *p)
{
    sbn_tensor_header *header = p->header;
    int more, status = SBN_SUCCESS, token = sbn__json_next(&p->reader);
    if (token != '{')
        return sbn__parse_refuse(p, token, NULL, "expected {");
    for (int first = 1; !(status = sbn__parse_key(p, first, &more)) && more; first = 0) {
        if (strcmp(p->reader.string, SBN_METADATA_NAME) == 0)
            status = sbn__parse_metadata(p);
        else
            status = sbn__parse_tensor(p, &header->tensors[header->count++]);
        if (status)
            return status;
    }
    if (!status)
        status = check_padding(p);
    if (status)
        return status;
    return sort_tensors(header, p->data_size, p->path);
}

int sbn__tensor_header_length(const unsigned char first[8], uint64_t file_size, const char *path,
                              uint64_t *length)
{
    *length = 0;
    for (int i = 0; i < 8; ++i)
        *length |= (uint64_t)first[i] << 8 * i;
    if (*length > SBN_TENSOR_HEADER_LIMIT)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: expected a header of at most %u bytes, got %" PRIu64, path,
                         SBN_TENSOR_HEADER_LIMIT, *length);
    if (*length < 2 || file_size < 8 || *length > file_size - 8)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: its header is said to have %" PRIu64 " bytes, the file has %" PRIu64,
                         path, *length, file_size);
    return SBN_SUCCESS;
}

/*
 * One block, little larger than the text, holds the tensors from its beginning and, until they have
 * been checked, the keys of the metadata from its end. Tensors fit: none has a shorter text than
 * `"":{"dtype":"U8","shape":[],"data_offsets":[0,1]},` but for the last one's comma, which the
 * braces around make up for. Keys, of 8 bytes each, fit as long as they differ: only `"":"",` has 6
 * bytes, and each of the less than 128 keys of one byte has 7. SLACK is for those, and for a tensor
 * that is cut short.
 */
enum { SLACK = 256 };
_Static_assert(sizeof(sbn_tensor) <= 50 && sizeof(sbn_metadata_key) == 8, "shorter than the text");

int sbn__tensor_header_parse(sbn_tensor_header *header, char *text, size_t length,
                             uint64_t data_size, const char *path)
{
    const size_t room = length / 8 * 8 + SLACK;
    *header = (sbn_tensor_header){0};
    if (length == 0 || *text != '{')
        return sbn__fail(SBN_INVALID_FILE, "%s: its header does not begin with {", path);
    header->tensors = sbn__allocate(room);
    if (!header->tensors)
        return sbn__fail_memory("a file's header");
    sbn_parse p = {
        .reader = sbn__json_read(text, length),
        .header = header,
        .keys = (sbn_metadata_key *)((char *)header->tensors + room),
        .data_size = data_size,
        .path = path,
    };
    const int status = parse_root(&p);
    if (status)
        sbn__tensor_header_free(header);
    return status;
}

void sbn__tensor_header_free(sbn_tensor_header *header)
{
    sbn__free(header->tensors);
    *header = (sbn_tensor_header){0};
}

const sbn_tensor *sbn__tensor_header_find(const sbn_tensor_header *header, const char *name)
{
    size_t begin = 0, end = header->count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const int order = strcmp(header->tensors[middle].name, name);
        if (order == 0)
            return &header->tensors[middle];
        if (order < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}
