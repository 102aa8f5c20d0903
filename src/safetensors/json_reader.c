#include "safetensors/json_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- strings ------------------------------------------------------------------- */

/* Four hexadecimal digits. */
static int read_hex(sbn_json_reader *r, uint32_t *value)
{
    char digits[5] = "";
    if (r->end - r->at < 4)
        return 0;
    memcpy(digits, r->at, 4);
    const size_t length = strspn(digits, "0123456789abcdefABCDEF");
    r->at += length;
    *value = (uint32_t)strtoul(digits, NULL, 16);
    return length == 4;
}

/* Reads the digits after "\u"; characters above 0xffff are two escapes. Returns NULL or what is wrong. */
static const char *read_code(sbn_json_reader *r, char **to)
{
    uint32_t code, low;
    if (!read_hex(r, &code))
        return "expected four hexadecimal digits after \\u";
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return "expected the second half of a surrogate pair";
        r->at += 2;
        if (!read_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
            return "expected the second half of a surrogate pair";
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    } else if (code >= 0xdc00 && code < 0xe000) {
        return "expected no second half of a surrogate pair alone";
    } else if (code == 0) {
        return "expected a string without NUL";
    }
    /* It is no longer than the escapes: 3 bytes for 6, 4 for 12. */
    *to += sbn__utf8_encode(code, *to);
    return NULL;
}

/* Reads the escape after a backslash. */
static const char *read_escape(sbn_json_reader *r, char **to)
{
    static const char escapes[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    const char c = r->at < r->end ? *r->at : '\0';
    const char *escape = c ? strchr(escapes, c) : NULL;
    if (!escape && c != 'u')
        return "expected an escape of JSON after a backslash";
    ++r->at;
    if (!escape)
        return read_code(r, to);
    *(*to)++ = characters[escape - escapes];
    return NULL;
}

/* Reads an unescaped character. */
static const char *read_character(sbn_json_reader *r, char **to)
{
    uint32_t character;
    const size_t length = sbn__utf8_decode(r->at, (size_t)(r->end - r->at), &character);
    if (length == 0)
        return "expected UTF-8";
    if (character < 0x20)
        return "expected no control character in a string";
    memmove(*to, r->at, length);
    *to += length;
    r->at += length;
    return NULL;
}

/* Reads a string after its first quotation mark; the last one becomes its NUL. */
static int read_string(sbn_json_reader *r)
{
    r->error = NULL;
    r->string = r->at;
    /* Printable ASCII without escapes, as in nearly all names, needs no copy. */
    while (r->at < r->end && *r->at >= 0x20 && *r->at < 0x7f && *r->at != '"' && *r->at != '\\')
        ++r->at;
    char *to = r->at;
    while (!r->error && r->at < r->end && *r->at != '"') {
        if (*r->at == '\\') {
            ++r->at;
            r->error = read_escape(r, &to);
        } else {
            r->error = read_character(r, &to);
        }
    }
    if (!r->error && r->at == r->end)
        r->error = "expected the string to end";
    if (r->error)
        return SBN_JSON_ERROR;
    ++r->at;
    *to++ = '\0';
    r->size = (size_t)(to - r->string);
    return SBN_JSON_STRING;
}

/* --- the tokens ------------------------------------------------------------------ */

/* A number with a point or an exponent, or that `natural` cannot hold, is another. */
static int read_natural(sbn_json_reader *r)
{
    int fits = 1;
    r->natural = 0;
    do {
        const uint64_t digit = (uint64_t)(*r->at++ - '0');
        fits = fits && r->natural <= (UINT64_MAX - digit) / 10;
        r->natural = r->natural * 10 + digit;
    } while (*r->token != '0' && r->at < r->end && is_digit(*r->at));
    return fits && (r->at == r->end || !strchr(".eE", *r->at)) ? SBN_JSON_NATURAL : SBN_JSON_OTHER;
}

int sbn__json_next(sbn_json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        ++r->at;
    r->token = r->at;
    if (r->at == r->end)
        return SBN_JSON_END;
    const char c = *r->at;
    if (is_digit(c))
        return read_natural(r);
    if (!c || !strchr("{}[]:,\"", c))
        return SBN_JSON_OTHER;
    ++r->at;
    return c == '"' ? read_string(r) : c;
}
