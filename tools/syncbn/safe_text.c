#include "syncbn/safe_text.h"

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

void safe_verror(const char *format, va_list arguments)
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
    safe_verror(format, arguments);
    va_end(arguments);
}
