/* Ranks in sentences. */
#ifndef SBN_COLLECTIVE_RANKS_H
#define SBN_COLLECTIVE_RANKS_H

#include <stddef.h>

/* More than this are counted, not listed. */
#define SBN_RANKS_LISTED 16

/* Room for any list. */
#define SBN_RANKS_SIZE 128

/* "rank 3", "ranks 0, 2" or "ranks 0, 1, [...], 15 and 4 more"; count > 0. Returns the length. */
size_t sbn__ranks_print(const int *ranks, int count, char *out, size_t size);

#endif
