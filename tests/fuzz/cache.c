/*
 * Any bytes as a file of compiled programs, perhaps with the right beginning, sizes or checksum.
 * Nothing but the binary that belongs to the key is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "program/cache.h"
#include "fuzz/fuzz.h"
#include "support/folder.h"

enum { HEAD = 40, RIGHT_MAGIC = 1, RIGHT_SIZES = 2, RIGHT_KEY = 4, RIGHT_CHECKSUM = 8 };

static int folder = -1;
static char path[512];
static unsigned char key_bytes[] = "the key of a program";
static const sbn_bytes key = {key_bytes, sizeof key_bytes};

/* The folder with one file, whose path is found. */
static void open_folder(void)
{
    unsigned char byte = 7;
    const sbn_bytes binary = {&byte, 1};
    folder = sbn__cache_open(fuzz_path(), 1);
    sbn__cache_store(folder, "program", &key, &binary);
    fuzz_must(folder_names(fuzz_path(), path) == 1);
}

static void put(unsigned char *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

/* The input as a file, with those parts right that its first byte asks for. */
static void compose(unsigned char *file, size_t size, unsigned right)
{
    const size_t behind = size < HEAD ? 0 : size - HEAD;
    if (size < HEAD)
        return;
    if (right & RIGHT_MAGIC)
        memcpy(file, "syncbn cache 001", 16);
    if (right & RIGHT_SIZES) {
        put(file + 16, key.size < behind ? key.size : behind);
        put(file + 24, key.size < behind ? behind - key.size : 0);
    }
    if (right & RIGHT_KEY && behind >= key.size)
        memcpy(file + HEAD, key.at, key.size);
    if (right & RIGHT_CHECKSUM)
        put(file + 32, sbn__digest(SBN_DIGEST_START, file + HEAD, behind));
}

/* The binary that was accepted is the end of the file and has the right checksum. */
static void check_taken(const unsigned char *file, size_t size, const sbn_bytes *binary)
{
    uint64_t sum;
    fuzz_must(size == HEAD + key.size + binary->size);
    fuzz_must(memcmp(file + HEAD, key.at, key.size) == 0);
    fuzz_must(memcmp(file + HEAD + key.size, binary->at, binary->size) == 0);
    memcpy(&sum, file + 32, sizeof sum);
    fuzz_must(sum == sbn__digest(SBN_DIGEST_START, file + HEAD, size - HEAD));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    if (folder < 0)
        open_folder();
    const long before = sbn__handles_open();
    unsigned char *file = malloc(size);
    fuzz_must(file != NULL);
    memcpy(file, bytes + 1, size - 1);
    compose(file, size - 1, bytes[0]);
    folder_write(path, file, size - 1);
    sbn_bytes binary;
    if (sbn__cache_load(folder, "program", &key, &binary))
        check_taken(file, size - 1, &binary);
    else
        fuzz_must(!binary.at && binary.size == 0);
    sbn__bytes_free(&binary);
    free(file);
    fuzz_must(sbn__handles_open() == before);
    return 0;
}
