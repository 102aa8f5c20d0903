#include "program/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"

/* The head of a file; key and binary follow. */
typedef struct head {
    char magic[16];
    uint64_t key_size, binary_size;
    uint64_t checksum; /* of key and binary */
} head;

static const char magic[] = "syncbn program 1";

/* Larger files are not read. */
#define MAX_SIZE ((off_t)1 << 28)

/* "0123456789abcdef.program" */
#define NAME_SIZE 32

void sbn__bytes_free(sbn_bytes *bytes)
{
    sbn__free(bytes->at);
    *bytes = (sbn_bytes){NULL, 0};
}

static void name_of(char name[NAME_SIZE], const sbn_bytes *key)
{
    snprintf(name, NAME_SIZE, "%016" PRIx64 ".program",
             sbn__digest(SBN_DIGEST_START, key->at, key->size));
}

static uint64_t checksum(const sbn_bytes *key, const sbn_bytes *binary)
{
    const uint64_t of_key = sbn__digest(SBN_DIGEST_START, key->at, key->size);
    return sbn__digest(of_key, binary->at, binary->size);
}

/* Reads a file into new blocks, after checking its sizes. */
static int read_file(int file, off_t size, head *h, sbn_bytes *key, sbn_bytes *binary)
{
    if (size > MAX_SIZE || !sbn__cache_file_read(file, h, sizeof *h) ||
        memcmp(h->magic, magic, sizeof h->magic) != 0)
        return 0;
    const uint64_t left = (uint64_t)size - sizeof *h;
    if (h->key_size > left || h->binary_size != left - h->key_size)
        return 0;
    *key = (sbn_bytes){sbn__allocate((size_t)h->key_size), (size_t)h->key_size};
    *binary = (sbn_bytes){sbn__allocate((size_t)h->binary_size), (size_t)h->binary_size};
    return key->at && binary->at && sbn__cache_file_read(file, key->at, key->size) &&
           sbn__cache_file_read(file, binary->at, binary->size);
}

int sbn__cache_load(int folder, const sbn_bytes *key, sbn_bytes *binary)
{
    char name[NAME_SIZE];
    off_t size;
    *binary = (sbn_bytes){NULL, 0};
    name_of(name, key);
    const int file = sbn__cache_file_open(folder, name, &size);
    if (file < 0)
        return 0;
    head h;
    sbn_bytes found = {NULL, 0};
    const int good = read_file(file, size, &h, &found, binary) && found.size == key->size &&
                     memcmp(found.at, key->at, key->size) == 0 &&
                     h.checksum == checksum(key, binary);
    close(file);
    sbn__bytes_free(&found);
    if (!good)
        sbn__bytes_free(binary);
    return good;
}

void sbn__cache_store(int folder, const sbn_bytes *key, const sbn_bytes *binary)
{
    char name[NAME_SIZE];
    head h = {.key_size = key->size, .binary_size = binary->size};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = checksum(key, binary);
    name_of(name, key);
    const sbn_cache_part parts[] = {{&h, sizeof h},
                                    {key->at, key->size},
                                    {binary->at, binary->size}};
    sbn__cache_file_write(folder, name, parts, sizeof parts / sizeof *parts);
}
