#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static _Thread_local char sentence[SBN_SENTENCE_SIZE];

void sbn__error_clear(void)
{
    sentence[0] = '\0';
}

int sbn__fail(int status, const char *format, ...)
{
    /* An argument may be the sentence itself, or a path of 4095 bytes. */
    char text[16 * SBN_SENTENCE_SIZE], *from = text, *to = sentence;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Of a long one the beginning and the end, which says why. */
    const size_t length = strlen(text), half = sizeof sentence / 2;
    if (length >= sizeof sentence) {
        memcpy(text + half - 3, "...", 3);
        memmove(text + half, text + length - (half - 1), half);
    }
    *to = '\0';
    for (char character[5]; *from; to = stpcpy(to, character))
        from += sbn__printable(from, character);
    return status;
}

int sbn__fail_memory(const char *what)
{
    return sbn__fail(SBN_OUT_OF_MEMORY, "the host has no memory left for %s", what);
}

int sbn_set_last_error(int status, const char *text)
{
    return sbn__fail(status, "%s", text ? text : "");
}

const char *sbn_last_error(void)
{
    return sentence;
}

const char *sbn_version(void)
{
    return PACKAGE_VERSION;
}
