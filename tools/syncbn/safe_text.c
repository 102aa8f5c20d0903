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

static void __attribute__((format(printf, 1, 0)))
print_sentence(const char *format, va_list arguments)
{
    char sentence[8192];
    vsnprintf(sentence, sizeof sentence, format, arguments);
    fputs("syncbn: ", stderr);
    safe_print(stderr, sentence);
    fputc('\n', stderr);
}

int failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_sentence(format, arguments);
    va_end(arguments);
    return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_sentence(format, arguments);
    va_end(arguments);
    return EXIT_USAGE;
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
