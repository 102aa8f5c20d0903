#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[SBN_SENTENCE_SIZE];

void sbn__error_clear(void)
{
    sentence[0] = '\0';
}

int sbn__fail(int status, const char *format, ...)
{
    /* An argument may be the sentence itself. */
    char text[SBN_SENTENCE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(sentence, sizeof sentence, "%s", text);
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
