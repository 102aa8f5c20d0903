#include "program/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"

/* The head of a file; key and value follow. */
typedef struct head {
    char magic[16];
    uint64_t key_size, value_size;
    uint64_t checksum; /* of key and value */
} head;

static const char magic[] = "syncbn cache 001";

/* Larger files are not read. */
#define MAX_SIZE ((off_t)1 << 28)

void sbn__bytes_free(sbn_bytes *bytes)
{
    sbn__free(bytes->at);
    *bytes = (sbn_bytes){NULL, 0};
}

void sbn__cache_name(char name[SBN_CACHE_NAME], const char *what, const sbn_bytes *key)
{
    snprintf(name, SBN_CACHE_NAME, "%016" PRIx64 ".%s",
             sbn__digest(SBN_DIGEST_START, key->at, key->size), what);
}

static uint64_t checksum(const sbn_bytes *key, const sbn_bytes *value)
{
    const uint64_t of_key = sbn__digest(SBN_DIGEST_START, key->at, key->size);
    return sbn__digest(of_key, value->at, value->size);
}

/* Reads a file into new blocks, after checking its sizes. */
static int read_file(int file, off_t size, head *h, sbn_bytes *key, sbn_bytes *value)
{
    if (size > MAX_SIZE || !sbn__cache_file_read(file, h, sizeof *h) ||
        memcmp(h->magic, magic, sizeof h->magic) != 0)
        return 0;
    const uint64_t left = (uint64_t)size - sizeof *h;
    if (h->key_size > left || h->value_size != left - h->key_size)
        return 0;
    *key = (sbn_bytes){sbn__allocate((size_t)h->key_size), (size_t)h->key_size};
    *value = (sbn_bytes){sbn__allocate((size_t)h->value_size), (size_t)h->value_size};
    return key->at && value->at && sbn__cache_file_read(file, key->at, key->size) &&
           sbn__cache_file_read(file, value->at, value->size);
}

int sbn__cache_load(int folder, const char *what, const sbn_bytes *key, sbn_bytes *value)
{
    char name[SBN_CACHE_NAME];
    off_t size;
    *value = (sbn_bytes){NULL, 0};
    sbn__cache_name(name, what, key);
    const int file = sbn__cache_file_open(folder, name, &size);
    if (file < 0)
        return 0;
    head h;
    sbn_bytes found = {NULL, 0};
    const int good = read_file(file, size, &h, &found, value) && found.size == key->size &&
                     memcmp(found.at, key->at, key->size) == 0 &&
                     h.checksum == checksum(key, value);
    close(file);
    sbn__bytes_free(&found);
    if (!good)
        sbn__bytes_free(value);
    return good;
}

int sbn__cache_store(int folder, const char *what, const sbn_bytes *key, const sbn_bytes *value)
{
    char name[SBN_CACHE_NAME];
    head h = {.key_size = key->size, .value_size = value->size};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = checksum(key, value);
    sbn__cache_name(name, what, key);
    const sbn_cache_part parts[] = {{&h, sizeof h}, {key->at, key->size}, {value->at, value->size}};
    return sbn__cache_file_write(folder, name, parts, sizeof parts / sizeof *parts);
}
