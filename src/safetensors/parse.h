/* Parses the JSON of a header: its objects' keys, and the description of a tensor. */
#pragma once

#include "safetensors/json_reader.h"
#include "safetensors/tensor.h"

typedef struct sbn_parse {
    sbn_json_reader reader;
    uint64_t data_size;
    const char *path; /* begins the sentences */
} sbn_parse;

/* Fail with a sentence about a tensor, its place, or the JSON at the reader's position. */
int sbn__parse_fail(const char *path, const char *name, const char *what);
int sbn__parse_fail_place(const sbn_parse *p, const sbn_tensor *tensor);
int sbn__parse_fail_json(const sbn_parse *p, const char *what);

/*
 * Reads the next token, which must be the one wanted; if not, the sentence says `what` about the
 * tensor `name`, which may be NULL.
 */
int sbn__parse_expect(sbn_parse *p, int wanted, const char *name, const char *what);

/* The next key of an object, into the reader's string. *more is 0 before the first, and at the end. */
int sbn__parse_key(sbn_parse *p, int *more);

/* The value of a tensor; its name is the reader's string. */
int sbn__parse_tensor(sbn_parse *p, sbn_tensor *tensor);
