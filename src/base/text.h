/* Text that is put together, and text from files: UTF-8, and how it is shown on a terminal. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Adds to a text in `size` bytes; what does not fit is dropped. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void sbn__text_add(char *text, size_t size, const char *format, ...);

/* A block of sbn__allocate's with the first `length` bytes and a NUL; NULL without memory. */
char *sbn__text_copy(const char *text, size_t length);

/* The length of the UTF-8 character at the start of `size` bytes, at least 1; 0: there is none. */
size_t sbn__utf8_decode(const char *text, size_t size, uint32_t *character);

/* The bytes of a character in UTF-8: 1 to 4. */
size_t sbn__utf8_encode(uint32_t character, char to[4]);

/* 1 if the string is valid UTF-8. */
int sbn__utf8_is_valid(const char *text);

/*
 * The first character of a non-empty string in a form that is safe to print: "?" replaces control
 * characters, characters that change the direction of writing, line separators and bytes that are
 * not UTF-8. `to` is NUL-terminated. Returns how many bytes of the string were used.
 */
size_t sbn__printable(const char *text, char to[5]);
