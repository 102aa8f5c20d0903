/* Everything in the header is checked before it is used. */
#include "safetensors/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "safetensors/parse.h"

int sbn__tensor_header_length(const unsigned char first[8], uint64_t file_size, const char *path,
                              uint64_t *length)
{
    *length = sbn__little_endian(first, 8);
    if (*length > SBN_TENSOR_HEADER_LIMIT)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: expected a safetensors file, got one of an unknown kind or a damaged "
                         "one: its header would have %" PRIu64 " bytes, at most %u are allowed",
                         path, *length, SBN_TENSOR_HEADER_LIMIT);
    if (*length < 2 || *length > file_size - 8)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: its header is said to have %" PRIu64 " bytes, the file has %" PRIu64,
                         path, *length, file_size);
    return SBN_SUCCESS;
}

/* A key of the metadata. */
typedef struct metadata_key {
    uint32_t hash, at; /* where it stands in the text */
} metadata_key;

typedef struct parsing {
    sbn_parse parse;
    sbn_tensor_header *header;
    metadata_key *keys; /* the last one of the metadata, near the end of the header's block */
} parsing;

/* --- metadata: an object of strings, in which no key stands twice --------------------- */

static const char metadata_name[] = "__metadata__";

/* What the keys that a thread sorts are places in. */
static _Thread_local const char *text_of_keys;

/* By hash, then by text: hashes are in the array, texts are elsewhere. */
static int by_key(const void *a, const void *b)
{
    const metadata_key *one = a, *two = b;
    const int order = (one->hash > two->hash) - (one->hash < two->hash);
    return order ? order : strcmp(text_of_keys + one->at, text_of_keys + two->at);
}

static int check_keys(const parsing *p)
{
    const size_t count = p->header->metadata.count;
    text_of_keys = p->parse.reader.begin;
    qsort(p->keys, count, sizeof *p->keys, by_key);
    for (size_t i = 1; i < count; ++i)
        if (by_key(&p->keys[i - 1], &p->keys[i]) == 0)
            return sbn__fail(SBN_INVALID_FILE, "%s: __metadata__: \"%s\" is a duplicate key",
                             p->parse.path, sbn__show(text_of_keys + p->keys[i].at).text);
    return SBN_SUCCESS;
}

/* Appends the reader's string to those before it; there is room, as its quotation marks are dropped. */
static void pack(const parsing *p, char **to)
{
    memmove(*to, p->parse.reader.string, p->parse.reader.size);
    *to += p->parse.reader.size;
}

static int parse_metadata(parsing *p)
{
    static const char wanted[] = "expected an object of strings";
    sbn_tensor_metadata *metadata = &p->header->metadata;
    if (metadata->strings)
        return sbn__parse_fail(p->parse.path, metadata_name, "it is a duplicate key");
    int more = 0, status = sbn__parse_expect(&p->parse, '{', metadata_name, wanted);
    if (status)
        return status;
    char *to = p->parse.reader.token;
    metadata->strings = to;
    while (!(status = sbn__parse_key(&p->parse, &more)) && more) {
        if ((char *)p->keys < (char *)(p->header->tensors + p->header->count) + sizeof *p->keys)
            return sbn__parse_fail(p->parse.path, metadata_name,
                                   "too many keys: there are duplicates");
        *--p->keys = (metadata_key){
            .hash = (uint32_t)sbn__digest(SBN_DIGEST_START, p->parse.reader.string,
                                          p->parse.reader.size),
            .at = (uint32_t)(to - p->parse.reader.begin),
        };
        pack(p, &to);
        status = sbn__parse_expect(&p->parse, SBN_JSON_STRING, metadata_name, wanted);
        if (status)
            return status;
        pack(p, &to);
        ++metadata->count;
    }
    return status ? status : check_keys(p);
}

/* --- tensors ------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const sbn_tensor *one = a, *two = b;
    const int order = (one->begin > two->begin) - (one->begin < two->begin);
    return order ? order : (one->end > two->end) - (one->end < two->end);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const sbn_tensor *)a)->name, ((const sbn_tensor *)b)->name);
}

/*
 * Checks that tensors cover the data without gaps. If their only fault is that they describe more
 * data than there is, the file was truncated: the sentence names the first incomplete tensor.
 */
static int check_places(const sbn_tensor_header *header, const sbn_parse *p)
{
    const char *path = p->path;
    const sbn_tensor *cut = NULL;
    uint64_t end = 0;
    for (size_t i = 0; i < header->count; ++i) {
        const sbn_tensor *tensor = &header->tensors[i];
        if (tensor->begin != end && tensor->end > p->data_size)
            return sbn__parse_fail_place(p, tensor);
        if (tensor->begin < end)
            return sbn__parse_fail(path, tensor->name, "data_offsets: it overlaps another tensor");
        if (tensor->begin > end)
            return sbn__parse_fail(path, tensor->name, "data_offsets: there is a gap before it");
        end = tensor->end;
        if (end > p->data_size && !cut)
            cut = tensor;
    }
    if (cut)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: the file is truncated: expected %" PRIu64 " bytes of data, got "
                         "%" PRIu64 "; tensor \"%s\" is the first that is not whole",
                         path, end, p->data_size, sbn__show(cut->name).text);
    if (end != p->data_size)
        return sbn__fail(SBN_INVALID_FILE, "%s: expected %" PRIu64 " bytes of data, got %" PRIu64,
                         path, end, p->data_size);
    return SBN_SUCCESS;
}

/* Sorts by place and checks it; then sorts by name, of which none may be a duplicate. */
static int sort_tensors(sbn_tensor_header *header, const sbn_parse *p)
{
    sbn_tensor *tensors = header->tensors;
    qsort(tensors, header->count, sizeof *tensors, by_place);
    const int status = check_places(header, p);
    if (status)
        return status;
    qsort(tensors, header->count, sizeof *tensors, by_name);
    for (size_t i = 1; i < header->count; ++i)
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0)
            return sbn__parse_fail(p->path, tensors[i].name, "it is a duplicate key");
    return SBN_SUCCESS;
}

/* --- all of it ------------------------------------------------------------------------ */

/* Behind the first brace. */
static int parse_root(parsing *p)
{
    sbn_tensor_header *header = p->header;
    sbn_json_reader *r = &p->parse.reader;
    int more = 0, status = SBN_SUCCESS;
    while (!status && !(status = sbn__parse_key(&p->parse, &more)) && more)
        if (strcmp(r->string, metadata_name) == 0)
            status = parse_metadata(p);
        else
            status = sbn__parse_tensor(&p->parse, &header->tensors[header->count++]);
    if (status)
        return status;
    while (r->at < r->end && *r->at == ' ')
        ++r->at;
    if (r->at != r->end)
        return sbn__parse_fail_json(&p->parse, "expected nothing but spaces behind it");
    return sort_tensors(header, &p->parse);
}

/*
 * One block, little larger than the text, holds the tensors from its beginning and, until they have been checked, the
 * keys of the metadata from its end. Tensors fit: none has a shorter text than
 * `"":{"dtype":"U8","shape":[],"data_offsets":[0,1]},` but for the last one's comma, which the braces around make up
 * for. Keys, of 8 bytes each, fit as long as they differ: only `"":"",` has 6 bytes, and each of the less than 128
 * keys of one byte has 7. SLACK, in keys, is for those, and for a tensor that is cut short.
 */
enum { SLACK = 32 };
_Static_assert(sizeof(sbn_tensor) <= 50 && sizeof(metadata_key) == 8, "shorter than the text");

int sbn__tensor_header_parse(sbn_tensor_header *header, char *text, size_t length,
                             uint64_t data_size, const char *path)
{
    const size_t room = length / sizeof(metadata_key) + SLACK;
    if (*text != '{')
        return sbn__fail(SBN_INVALID_FILE, "%s: its header does not begin with {", path);
    header->tensors = sbn__allocate(sizeof(metadata_key) * room);
    if (!header->tensors)
        return sbn__fail_memory("a file's header");
    parsing p = {
        .parse = {{.begin = text, .end = text + length, .at = text + 1}, data_size, path},
        .header = header,
        .keys = (metadata_key *)header->tensors + room,
    };
    return parse_root(&p);
}

void sbn__tensor_header_free(sbn_tensor_header *header)
{
    sbn__free(header->tensors);
    *header = (sbn_tensor_header){0};
}

const sbn_tensor *sbn__tensor_header_find(const sbn_tensor_header *header, const char *name)
{
    const sbn_tensor wanted = {.name = name};
    return bsearch(&wanted, header->tensors, header->count, sizeof wanted, by_name);
}
