#include "syncbn/safe_text.h"

#include <stdarg.h>

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

void safe_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_sentence(format, arguments);
    va_end(arguments);
}

int usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_sentence(format, arguments);
    va_end(arguments);
    return EXIT_USAGE;
}
