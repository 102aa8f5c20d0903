/*
 * Text of a file or of the command line may hold anything: what reaches a terminal has "?" for
 * control characters and those that change the direction of writing (src/base/text.h).
 */
#ifndef TOOLS_SYNCBN_SAFE_TEXT_H
#define TOOLS_SYNCBN_SAFE_TEXT_H

#include <stdarg.h>
#include <stdio.h>

/* Returns how many characters it has written. */
int safe_print(FILE *to, const char *text);

/* A sentence on stderr: "syncbn: ..." and a newline. */
void safe_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void safe_verror(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
