/*
 * For libFuzzer (make check-fuzz): any bytes as a safetensors file, and as what a file that is refused looks like. A
 * header that is accepted must keep its promises: tensors of the size that shape and type say, back to back within
 * the data, each found by its name, none twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz/fuzz.h"
#include "safetensors/file_kind.h"
#include "safetensors/write.h"

static void check(const sbn_tensor_header *header, uint64_t data_size)
{
    uint64_t total = 0;
    for (size_t i = 0; i < header->count; ++i) {
        const sbn_tensor *tensor = &header->tensors[i];
        fuzz_must(tensor->begin <= tensor->end && tensor->end <= data_size);
        fuzz_must((tensor->end - tensor->begin) * 8 == tensor->elements * tensor->type->bits);
        fuzz_must(sbn__tensor_header_find(header, tensor->name) == tensor);
        fuzz_must(i == 0 || strcmp(tensor[-1].name, tensor->name) < 0);
        total += tensor->end - tensor->begin;
        for (size_t j = 0; j < header->count && header->count < 64; ++j) {
            const sbn_tensor *other = &header->tensors[j];
            fuzz_must(j == i || tensor->end <= other->begin || other->end <= tensor->begin);
        }
    }
    fuzz_must(total == data_size);
}

/* Written and read again, it is the same. */
static void check_text(const sbn_tensor_header *header, uint64_t data_size)
{
    size_t length;
    sbn_tensor_header again = {0};
    sbn_new_tensor *tensors = calloc(header->count + 1, sizeof *tensors);
    fuzz_must(tensors != NULL);
    for (size_t i = 0; i < header->count; ++i) {
        const sbn_tensor *old = &header->tensors[i];
        tensors[i] = (sbn_new_tensor){old->name, old->type, old->shape, old->end - old->begin,
                                      NULL,      old};
    }
    char *text = sbn__tensor_header_text(&header->metadata, tensors, header->count, &length);
    fuzz_must(text != NULL && length % 8 == 0);
    fuzz_must(!sbn__tensor_header_parse(&again, text, length, data_size, "again"));
    fuzz_must(again.count == header->count);
    for (size_t i = 0; i < header->count; ++i) {
        const sbn_tensor *a = &header->tensors[i], *b = &again.tensors[i];
        fuzz_must(strcmp(a->name, b->name) == 0 && strcmp(a->shape, b->shape) == 0);
        fuzz_must(a->type == b->type && a->elements == b->elements);
    }
    const char *a = header->metadata.strings, *b = again.metadata.strings;
    fuzz_must(!a == !b && header->metadata.count == again.metadata.count);
    for (size_t i = 0; i < 2 * again.metadata.count; ++i) {
        fuzz_must(strcmp(a, b) == 0);
        a += strlen(a) + 1;
        b += strlen(b) + 1;
    }
    sbn__tensor_header_free(&again);
    sbn__free(text);
    free(tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t length;
    sbn__file_kind(bytes, size < SBN_FILE_KIND_SIZE ? size : SBN_FILE_KIND_SIZE);
    if (size < 8 || sbn__tensor_header_length(bytes, size, "fuzz", &length))
        return 0;
    /* An exact copy: what reads beyond it is caught. */
    char *text = malloc(length);
    fuzz_must(text != NULL);
    memcpy(text, bytes + 8, length);
    sbn_tensor_header header = {0};
    if (!sbn__tensor_header_parse(&header, text, length, size - 8 - length, "fuzz")) {
        check(&header, size - 8 - length);
        check_text(&header, size - 8 - length);
    }
    sbn__tensor_header_free(&header);
    free(text);
    return 0;
}
