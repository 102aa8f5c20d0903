/*
 * Any arguments of `syncbn check`, `bench` and `tune`, one a line; what is behind a NUL is the
 * content of whatever file they name. They are understood, or refused as wrong usage.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/wraps.h"
#include "syncbn/options.h"

enum { MOST = 24 };

static const uint8_t *content;
static size_t content_size;
static int reading; /* the options: libFuzzer has files of its own */

/* The only file that the options read. */
WRAP(FILE *, fopen, (const char *path, const char *mode))
{
    static char copy[1 << 16];
    if (!reading)
        return __real_fopen(path, mode);
    if (content_size == 0 || content_size > sizeof copy)
        return __real_fopen("/nonexistent", mode);
    memcpy(copy, content, content_size);
    return fmemopen(copy, content_size, mode);
}

/* Its sentences would fill the log. */
WRAP(int, print_sentence, (int exit_status, const char *format, ...))
{
    fuzz_must(*format != '\0');
    return exit_status;
}

static int split(char *text, char **arguments)
{
    static char name[] = "command";
    int count = 0;
    arguments[count++] = name;
    while (text && *text && count < MOST)
        arguments[count++] = strsep(&text, "\n");
    arguments[count] = NULL;
    return count;
}

static void check_lines(const problem_list *list)
{
    char line[PROBLEM_LINE], error[256];
    problem again;
    for (size_t i = 0; i < list->count; ++i) {
        problem_print(&list->problems[i], line, sizeof line);
        fuzz_must(!problem_parse(line, &again, error, sizeof error));
    }
}

static void judge(const command *of, char *text)
{
    char *arguments[MOST + 1];
    command_options options;
    const int count = split(text, arguments);
    optind = 0;
    reading = 1;
    const int ended = options_read(count, arguments, of, &options);
    reading = 0;
    fuzz_must(ended == 0 || ended == 1 || ended == EXIT_USAGE + 1);
    if (!ended) {
        check_lines(&options.list);
        options_free(&options);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const command *const commands[] = {&check_command, &bench_command, &tune_command};
    const size_t length = strnlen((const char *)bytes, size);
    content = bytes + length + 1;
    content_size = length < size ? size - length - 1 : 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        char *text = strndup((const char *)bytes, size);
        fuzz_must(text != NULL);
        judge(commands[i], text);
        free(text);
    }
    return 0;
}
