/* The parts of a safetensors header; safetensors_header.c combines them. */
#ifndef SBN_MODEL_SAFETENSORS_PARSE_H
#define SBN_MODEL_SAFETENSORS_PARSE_H

#include "model/json_reader.h"
#include "model/safetensors.h"

/* A key of the metadata. */
typedef struct sbn_metadata_key {
    uint32_t hash, place; /* in the text */
} sbn_metadata_key;

typedef struct sbn_parse {
    sbn_json_reader reader;
    sbn_tensor_header *header;
    sbn_metadata_key *keys; /* the last one, near the end of the header's block */
    uint64_t data_size;
    const char *path;
} sbn_parse;

/* Fail with a sentence about a tensor, or about the JSON at the reader's position. */
int sbn__parse_fail(const char *path, const char *name, const char *what);
int sbn__parse_fail_json(const sbn_parse *p, const char *what);

/*
 * Fails because of an unexpected token: the sentence says `what` about the tensor `name` (may be
 * NULL), or the reader's error if there is no token.
 */
int sbn__parse_refuse(const sbn_parse *p, int token, const char *name, const char *what);

/* The next key of an object, into the reader's string; *more is 0 if the object has ended. */
int sbn__parse_key(sbn_parse *p, int first, int *more);

/* The value of a tensor; its name is the reader's string. */
int sbn__parse_tensor(sbn_parse *p, sbn_tensor *tensor);

#define SBN_METADATA_NAME "__metadata__"
int sbn__parse_metadata(sbn_parse *p);

#endif
