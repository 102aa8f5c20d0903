/* The word that somebody who mistyped may have meant. */
#pragma once

#include <stddef.h>

/*
 * The first of the `count` known words, each up to a character of `ends`, that differs least from
 * the first `length` characters of `word`: by one letter that is wrong, missing, too many or swapped
 * with its neighbour; by two from 6 letters on; of one letter by nothing. NULL if none is so near.
 */
const char *nearest_word(const char *word, size_t length, const char *const *known, size_t count,
                         const char *ends);
