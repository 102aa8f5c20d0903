/*
 * Reads JSON token by token in a text that may be changed: strings are unescaped in place, and no
 * memory is allocated. The caller checks the order of tokens. jansson cannot take its place: where
 * an allocation fails, its lexer drops the character and reads on, beyond its buffer too (its issue
 * 362, in 2.15.1 still), and it takes up to 80 times the text's size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A token is one of these, or '{', '}', '[', ']', ':' or ','. */
enum {
    SBN_JSON_END = 0,
    SBN_JSON_ERROR = 1,   /* `error` says why */
    SBN_JSON_STRING = 2,  /* in `string` */
    SBN_JSON_NATURAL = 3, /* an integer from 0 to 2^64 - 1, in `natural` */
    SBN_JSON_OTHER = 4    /* what no header has: another number, a word; not examined */
};

typedef struct sbn_json_reader {
    char *begin, *end; /* of the text */
    char *at;          /* behind the last token */
    char *token;       /* where the last token began */
    char *string;      /* UTF-8 without a NUL but that at its end */
    size_t size;       /* of `string`, with its NUL */
    uint64_t natural;
    const char *error;
} sbn_json_reader;

/* Returns the next token. A new reader has `begin`, `end` and `at`. */
int sbn__json_next(sbn_json_reader *reader);
