/*
 * Where --json FILE writes: found to be writable before anything runs, whole or not at all. And what
 * jansson leaves open: numbers that JSON lacks, strings that are not UTF-8.
 */
#pragma once

#include <stdio.h>

#include <jansson.h>

typedef struct json_output {
    const char *path;         /* NULL: no --json */
    char *target, *temporary; /* the second is renamed to the first, */
    FILE *to;                 /* or it is written as it is */
} json_output;

/*
 * From now on, an allocation of jansson's that fails ends the program with a sentence: without memory,
 * jansson omits values or crashes, and a report that lacks a part must not look complete.
 */
void json_memory_or_exit(void);

/* `path`: a file, "-" for standard output, or NULL. 0, or EXIT_FAILED after a sentence. */
int json_output_open(json_output *out, const char *path);

/* 1 if JSON goes to standard output, so that nothing else may be written there. */
int json_output_is_stdout(const json_output *out);

/*
 * Writes the report, which is released, as an object that begins with the library's version. 0, or
 * EXIT_FAILED after a sentence.
 */
int json_output_write(json_output *out, json_t *report);

/* NaN and infinities become strings. */
json_t *json_number_or_name(double value);

/* A driver's string, or a file's name: "?" for each byte that is not UTF-8. */
json_t *json_text(const char *text);

/* An earlier file of this name stays as it was where nothing has been written. */
void json_output_close(json_output *out);
