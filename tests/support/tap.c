#include "support/tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;
static int (*judge_together)(int condition);
static int (*excuse_of)(void);

void tap_judge(int (*judge)(int condition))
{
    judge_together = judge;
}

void tap_excuse(int (*excuse)(void))
{
    excuse_of = excuse;
}

/* A line break would end the TAP line and start something else. */
static void print_line(const char *before, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    for (char *at = text; (at = strpbrk(at, "\r\n#"));)
        *at = *at == '#' ? '+' : ' ';
    printf("%s%s\n", before, text);
    fflush(stdout);
}

int tap_ok(int condition, const char *format, ...)
{
    char before[32];
    va_list arguments;
    if (judge_together && !condition) {
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    if (judge_together)
        condition = judge_together(condition);
    const int excused = !condition && excuse_of && excuse_of();
    va_start(arguments, format);
    if (excused) {
        print_line("# excused: ", format, arguments);
        va_end(arguments);
        return 0;
    }
    snprintf(before, sizeof before, "%sok %d - ", condition ? "" : "not ", ++checks);
    print_line(before, format, arguments);
    va_end(arguments);
    failures += !condition;
    return condition;
}

void tap_skip(const char *format, ...)
{
    char before[32];
    va_list arguments;
    va_start(arguments, format);
    snprintf(before, sizeof before, "ok %d # SKIP ", ++checks);
    print_line(before, format, arguments);
    va_end(arguments);
}

void tap_missing(const char *format, ...)
{
    const char *ci = getenv("CI");
    const int fails = ci && strcmp(ci, "true") == 0;
    char before[32];
    va_list arguments;
    va_start(arguments, format);
    snprintf(before, sizeof before, fails ? "not ok %d - missing: " : "ok %d # SKIP ", ++checks);
    print_line(before, format, arguments);
    va_end(arguments);
    failures += fails;
}

void tap_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("# ", format, arguments);
    va_end(arguments);
}

int tap_skip_all(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("1..0 # SKIP ", format, arguments);
    va_end(arguments);
    return 0;
}

int tap_done(void)
{
    printf("1..%d\n", checks);
    return failures != 0;
}
