#include "syncbn/safe_text.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/text.h"

int safe_print(FILE *to, const char *text)
{
    int printed = 0;
    char character[5];
    while (*text) {
        text += sbn__printable(text, character);
        fputs(character, to);
        ++printed;
    }
    return printed;
}

int print_sentence(int exit_status, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs("syncbn: ", stderr);
    safe_print(stderr, text);
    fputc('\n', stderr);
    return exit_status;
}

static int shown;

void progress_show(size_t number, size_t count, size_t failed, const char *what, int always)
{
    char failures[32] = "";
    const int terminal = isatty(STDERR_FILENO);
    if (!terminal && !always)
        return;
    if (failed)
        snprintf(failures, sizeof failures, ", %zu failed", failed);
    fprintf(stderr, terminal ? "\r\033[K[%zu/%zu%s] %.60s" : "[%zu/%zu%s] %s\n", number, count,
            failures, what);
    fflush(stderr);
    shown = terminal;
}

void progress_clear(void)
{
    if (shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        shown = 0;
    }
}
