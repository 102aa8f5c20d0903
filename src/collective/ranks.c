#include "collective/ranks.h"

#include <stdio.h>
#include <string.h>

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

void sbn__rank_sets_part(sbn_rank_sets *s, const int64_t *words, size_t stride, size_t length,
                         const sbn_rank_sets *within, int set)
{
    s->count = 0;
    for (int rank = 0; rank < s->world_size; ++rank) {
        int first = 0;
        s->first[rank] = -1;
        s->size[rank] = 0;
        if (within && within->first[rank] != set)
            continue;
        while (first < rank && (s->size[first] == 0 ||
                                memcmp(words + (size_t)first * stride,
                                       words + (size_t)rank * stride, sizeof *words * length) != 0))
            ++first;
        s->first[rank] = first;
        s->count += first == rank;
        ++s->size[first];
    }
}

int sbn__rank_sets_next(const sbn_rank_sets *s, int set)
{
    int next = -1;
    for (int rank = 0; rank < s->world_size; ++rank) {
        const int size = s->size[rank];
        const int later = set < 0 || size > s->size[set] || (size == s->size[set] && rank > set);
        if (size > 0 && later && (next < 0 || size < s->size[next]))
            next = rank;
    }
    return next;
}

int sbn__rank_sets_list(const sbn_rank_sets *s, int set, int *ranks)
{
    int count = 0;
    for (int rank = set; rank < s->world_size; ++rank)
        if (s->first[rank] == set)
            ranks[count++] = rank;
    return count;
}
