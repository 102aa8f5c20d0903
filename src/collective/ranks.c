#include "collective/ranks.h"

#include <stdio.h>

/* The position of the next word, limited to the end of the buffer. */
static size_t after(size_t used, int length, size_t size)
{
    const size_t next = used + (length > 0 ? (size_t)length : 0);
    return next < size ? next : size - 1;
}

size_t sbn__ranks_print(const int *ranks, int count, char *out, size_t size)
{
    const int listed = count < SBN_RANKS_LISTED ? count : SBN_RANKS_LISTED;
    size_t used = after(0, snprintf(out, size, count > 1 ? "ranks" : "rank"), size);
    for (int i = 0; i < listed; ++i)
        used = after(used, snprintf(out + used, size - used, i ? ", %d" : " %d", ranks[i]), size);
    if (count > listed)
        used = after(used, snprintf(out + used, size - used, " and %d more", count - listed), size);
    return used;
}
