/* The inside of problem_parse: what its two files share. */
#ifndef TOOLS_CHECK_PARSER_H
#define TOOLS_CHECK_PARSER_H

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

/* "mb32ic64ih7iw7" */
int parser_shape(parser *in, const char *word);

/* "5-0-27" */
int parser_split(parser *in, const char *list);

/* "7x7-14x5": as many extents as the shape has, for each replica of the split. */
int parser_sizes(parser *in, const char *list);

#endif
