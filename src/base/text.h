/* Text that comes from files: UTF-8, and what of it a terminal may be shown. */
#ifndef SBN_BASE_TEXT_H
#define SBN_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The length of the UTF-8 character that `size` bytes begin with; 0: there is none. */
size_t sbn__utf8_decode(const char *text, size_t size, uint32_t *character);

/* The bytes of a character in UTF-8: 1 to 4. */
size_t sbn__utf8_encode(uint32_t character, char to[4]);

/* Is a string UTF-8? */
int sbn__utf8_is_valid(const char *text);

/*
 * The first character of a string that is not empty, as a terminal may be shown it: "?" stands for
 * control characters, those that change the direction of writing, line separators and bytes that
 * are not UTF-8. `to` ends with NUL. Returns how many bytes of the string it stands for.
 */
size_t sbn__printable(const char *text, char to[5]);

#endif
