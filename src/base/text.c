#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void sbn__text_add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

char *sbn__text_copy(const char *text, size_t length)
{
    char *copy = sbn__allocate(length + 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

size_t sbn__utf8_decode(const char *text, size_t size, uint32_t *character)
{
    /* The least character of each length: longer forms of a character are not valid. */
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    const unsigned char first = bytes[0];
    const size_t length = first < 0x80             ? 1
                          : (first & 0xe0) == 0xc0 ? 2
                          : (first & 0xf0) == 0xe0 ? 3
                          : (first & 0xf8) == 0xf0 ? 4
                                                   : 0;
    if (length == 0 || length > size)
        return 0;
    uint32_t value = first & (0xffu >> length);
    for (size_t i = 1; i < length; ++i) {
        if ((bytes[i] & 0xc0) != 0x80) /* no continuation byte */
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < least[length - 1] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *character = value;
    return length;
}

size_t sbn__utf8_encode(uint32_t character, char to[4])
{
    const size_t length = character < 0x80      ? 1
                          : character < 0x800   ? 2
                          : character < 0x10000 ? 3
                                                : 4;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(first[length - 1] | character);
    return length;
}

int sbn__utf8_is_valid(const char *text)
{
    uint32_t character;
    size_t length = 1;
    for (; *text && length > 0; text += length)
        length = sbn__utf8_decode(text, strnlen(text, 4), &character);
    return length > 0;
}

static int is_printable(uint32_t c)
{
    const int control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const int separator = c == 0x2028 || c == 0x2029;
    const int direction = c == 0x61c || c == 0x200e || c == 0x200f ||
                          (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return !control && !separator && !direction;
}

size_t sbn__printable(const char *text, char to[5])
{
    uint32_t character = 0; /* a control character */
    const size_t length = sbn__utf8_decode(text, strnlen(text, 4), &character);
    if (is_printable(character)) {
        memcpy(to, text, length);
        to[length] = '\0';
    } else {
        strcpy(to, "?");
    }
    return length > 0 ? length : 1;
}
