#include "support/tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncbn.h>

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
static void print_rest(FILE *to, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    for (char *at = text; (at = strpbrk(at, "\r\n#"));)
        *at = *at == '#' ? '+' : ' ';
    fprintf(to, "%s\n", text);
    fflush(to);
}

/* The rest of a line, from the arguments of a function with `format`. */
#define PRINT_REST(to) \
    do { \
        va_list arguments; \
        va_start(arguments, format); \
        print_rest(to, format, arguments); \
        va_end(arguments); \
    } while (0)

int tap_ok(int condition, const char *format, ...)
{
    if (judge_together && !condition)
        PRINT_REST(stderr);
    if (judge_together)
        condition = judge_together(condition);
    if (!condition && excuse_of && excuse_of())
        printf("# excused: ");
    else {
        printf("%sok %d - ", condition ? "" : "not ", ++checks);
        failures += !condition;
    }
    PRINT_REST(stdout);
    return condition;
}

void tap_skip(const char *format, ...)
{
    printf("ok %d # SKIP ", ++checks);
    PRINT_REST(stdout);
}

void tap_note(const char *format, ...)
{
    printf("# ");
    PRINT_REST(stdout);
}

int tap_skip_all(const char *format, ...)
{
    printf("1..0 # SKIP ");
    PRINT_REST(stdout);
    return 0;
}

int tap_done(void)
{
    printf("1..%d\n", checks);
    return failures != 0;
}

int tap_missing(const char *format, ...)
{
    const char *ci = getenv("CI");
    const int fails = ci && strcmp(ci, "true") == 0;
    printf(fails ? "not ok %d - missing: " : "ok %d # SKIP ", ++checks);
    PRINT_REST(stdout);
    failures += fails;
    return tap_done();
}

/* A public function that says whether it succeeded, and clears the sentence of an earlier failure. */
static int clears(const char *call)
{
    return strncmp(call, "sbn_", 4) == 0 && call[4] != '_' && !strstr(call, "_destroy(");
}

void must_fail_before(const char *call)
{
    if (clears(call))
        (void)sbn_group_status(NULL, NULL);
}

void must_succeed(int code, const char *call, const char *what)
{
    const char *sentence = sbn_last_error();
    if (code == SBN_SUCCESS && (!clears(call) || *sentence == '\0'))
        return;
    printf("Bail out! %s: %s: %s\n", what, sbn_strerror(code), sentence);
    exit(99);
}
