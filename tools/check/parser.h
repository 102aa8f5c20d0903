/* The inside of problem_parse and problem_print: what a line says of the shape and the replicas. */
#pragma once

#include "check/problem.h"

/* Largest extent and largest tensor that a problem may ask for, in elements. */
#define PARSER_MAX ((uint64_t)1 << 31)

typedef struct parser {
    problem *p;
    char *error;
    size_t error_size;
} parser;

/* Writes the sentence; returns -1. */
int parser_fail(parser *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A decimal number at *at, which moves behind it. No sign, no blank. Returns 0 or -1. */
int parser_number(const char **at, uint64_t *value);

/* "mb32ic64ih7iw7"; behind "r", "split" and "sizes": "3", "5-0-27", "7x7-14x5". */
int parser_shape(parser *in, const char *word);
int parser_replicas(parser *in, const char *number);
int parser_split(parser *in, const char *list);
int parser_sizes(parser *in, const char *list);

/* Add to a line. */
void parser_put_shape(const problem *p, char *line, size_t size);
void parser_put_replicas(const problem *p, char *line, size_t size);
