/*
 * The order of a header's tensors: by name, whatever the names share, how long they are and where
 * their data lie; each is found, with its own shape and place, and a duplicate is refused.
 */
#include "safetensors/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncbn.h>

#include "base/memory.h"
#include "support/tap.h"

enum { COUNT = 2187, LETTERS = 3, LONGEST = 64, TEXT = COUNT * 256 };

/* Names share bytes; parted: not the first of them, which is another in every second name. */
typedef struct family {
    size_t shared;
    int parted;
    size_t sizes;
} family;

/* The i-th name: `shared` times k, then 0 to 7 of 3 letters, of which none is another's. */
static void name_of(size_t i, const family *f, char *name)
{
    memset(name, 'k', f->shared);
    if (f->parted && i % 2)
        *name = 'j';
    for (name += f->shared; i; i = (i - 1) / LETTERS)
        *name++ = "az_"[(i - 1) % LETTERS];
    *name = '\0';
}

/* Tensor i has i % sizes bytes; its data begin behind those of the tensors before it in `order`. */
static size_t write_header(char *text, const family *f, const size_t *order, size_t *begins,
                           size_t *data)
{
    size_t length = 0;
    char name[LONGEST];
    *data = 0;
    for (size_t k = 0; k < COUNT; ++k) {
        begins[order[k]] = *data;
        *data += order[k] % f->sizes;
    }
    for (size_t i = 0; i < COUNT; ++i) {
        name_of(i, f, name);
        length += (size_t)sprintf(text + length,
                                  "%c\"%s\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                                  "\"data_offsets\":[%zu,%zu]}",
                                  i ? ',' : '{', name, i % f->sizes, begins[i],
                                  begins[i] + i % f->sizes);
    }
    text[length++] = '}';
    return length;
}

static int is_right(const sbn_tensor_header *header, const family *f, const size_t *begins)
{
    char name[LONGEST];
    for (size_t i = 0; i < COUNT; ++i) {
        name_of(i, f, name);
        const sbn_tensor *tensor = sbn__tensor_header_find(header, name);
        if (!tensor || tensor->elements != i % f->sizes || tensor->begin != begins[i] ||
            tensor->end != begins[i] + i % f->sizes)
            return 0;
        if (i && strcmp(header->tensors[i - 1].name, header->tensors[i].name) >= 0)
            return 0;
    }
    return header->count == COUNT;
}

/* The data lie in the order of i * step modulo COUNT, a power of 3. */
static void check_order(char *text, const family *f, size_t step)
{
    static size_t order[COUNT], begins[COUNT];
    sbn_tensor_header header;
    size_t data;
    for (size_t i = 0; i < COUNT; ++i)
        order[i] = i * step % COUNT;
    const size_t length = write_header(text, f, order, begins, &data);
    const int status = sbn__tensor_header_parse(&header, text, length, data, "a text");
    tap_ok(!status && is_right(&header, f, begins),
           "%d names that share %zu bytes%s, data in steps of %zu: %s", COUNT, f->shared,
           f->parted ? " but the first" : "", step,
           status ? sbn_last_error() : "sorted, and each found");
    if (!status)
        sbn__tensor_header_free(&header);
}

static void check_duplicate(char *text, const family *f)
{
    static size_t order[COUNT], begins[COUNT];
    char name[LONGEST];
    sbn_tensor_header header;
    size_t data;
    for (size_t i = 0; i < COUNT; ++i)
        order[i] = i;
    size_t length = write_header(text, f, order, begins, &data) - 1;
    name_of(COUNT / 2, f, name);
    length += (size_t)sprintf(text + length,
                              ",\"%s\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                              name);
    const int status = sbn__tensor_header_parse(&header, text, length, data, "a text");
    tap_ok(status == SBN_INVALID_FILE && strstr(sbn_last_error(), "duplicate") &&
               strstr(sbn_last_error(), name),
           "a duplicate, names that share %zu bytes%s: %s", f->shared,
           f->parted ? " but the first" : "", sbn_last_error());
}

int main(void)
{
    const long at_start = sbn__handles_open();
    const family families[] = {{0, 0, 5},  {1, 0, 5}, {7, 0, 5},  {8, 0, 5}, {9, 0, 5},
                               {40, 0, 5}, {8, 1, 5}, {40, 1, 5}, {0, 0, 2}};
    char *text = malloc(TEXT);
    for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
        check_order(text, &families[i], 1);
        check_order(text, &families[i], 2); /* of two sizes: all without bytes at one place */
        check_order(text, &families[i], 1000);
        check_duplicate(text, &families[i]);
    }
    free(text);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    return tap_done();
}
