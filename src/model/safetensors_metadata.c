/* The metadata of a safetensors header: an object of strings, no key twice. */
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/sort.h"
#include "model/safetensors_parse.h"

/* By hash, then by text: hashes are in the array, texts are elsewhere. */
static int by_key(const void *text, const void *a, const void *b)
{
    const sbn_metadata_key *one = a, *two = b;
    if (one->hash != two->hash)
        return one->hash < two->hash ? -1 : 1;
    return strcmp((const char *)text + one->place, (const char *)text + two->place);
}

static int check_keys(const sbn_parse *p)
{
    const char *text = p->reader.begin;
    const size_t count = p->header->metadata.count;
    sbn__sort(p->keys, count, sizeof *p->keys, by_key, text);
    for (size_t i = 1; i < count; ++i)
        if (by_key(text, &p->keys[i - 1], &p->keys[i]) == 0)
            return sbn__fail(SBN_INVALID_FILE, "%s: __metadata__: \"%s\" is a duplicate key",
                             p->path, sbn__show(text + p->keys[i].place).text);
    return SBN_SUCCESS;
}

/*
 * Appends the reader's string to those before it; there is room, as its quotation marks are
 * dropped.
 */
static void pack(const sbn_parse *p, char **to)
{
    memmove(*to, p->reader.string, p->reader.length + 1);
    *to += p->reader.length + 1;
}

int sbn__parse_metadata(sbn_parse *p)
{
    static const char wanted[] = "expected an object of strings";
    sbn_tensor_metadata *metadata = &p->header->metadata;
    int more, status, token = sbn__json_next(&p->reader);
    if (metadata->strings)
        return sbn__parse_fail(p->path, SBN_METADATA_NAME, "it is a duplicate key");
    char *to = p->reader.token;
    metadata->strings = to;
    if (token != '{')
        return sbn__parse_refuse(p, token, SBN_METADATA_NAME, wanted);
    for (int first = 1; !(status = sbn__parse_key(p, first, &more)) && more; first = 0) {
        if ((char *)p->keys < (char *)(p->header->tensors + p->header->count) + sizeof *p->keys)
            return sbn__parse_fail(p->path, SBN_METADATA_NAME,
                                   "too many keys: there are duplicates");
        *--p->keys = (sbn_metadata_key){
            .hash = (uint32_t)sbn__digest(SBN_DIGEST_START, p->reader.string, p->reader.length),
            .place = (uint32_t)(to - p->reader.begin),
        };
        pack(p, &to);
        token = sbn__json_next(&p->reader);
        if (token != SBN_JSON_STRING)
            return sbn__parse_refuse(p, token, SBN_METADATA_NAME, wanted);
        pack(p, &to);
        ++metadata->count;
    }
    return status ? status : check_keys(p);
}
