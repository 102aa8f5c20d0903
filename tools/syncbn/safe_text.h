/*
 * Text of a file or of the command line may hold anything: what reaches a terminal has "?" for
 * control characters and those that change the direction of writing (src/base/text.h).
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Returns how many characters it has written. */
int safe_print(FILE *to, const char *text);

/* Exit statuses besides 0. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A sentence on stderr: "syncbn: ..." and a newline. Returns the exit status. */
int print_sentence(int exit_status, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define failure(...) print_sentence(EXIT_FAILED, __VA_ARGS__)
#define usage_error(...) print_sentence(EXIT_USAGE, __VA_ARGS__)

/*
 * The progress of a list of problems, on standard error: "[2/4] mb32ic64": on a terminal one line that the next replaces; elsewhere a line each, with
 * `always`, or nothing. `failed` of those done are counted where there are any.
 */
void progress_show(size_t number, size_t count, size_t failed, const char *what, int always);

/* Before anything else is printed. */
void progress_clear(void);
