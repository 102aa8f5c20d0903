#include "collective/ranks.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void sbn__ranks_print(const int *ranks, int count, char *out, size_t size)
{
    int listed = 0;
    snprintf(out, size, count > 1 ? "ranks" : "rank");
    for (; listed < count && listed < SBN_RANKS_LISTED; ++listed)
        sbn__text_add(out, size, listed ? ", %d" : " %d", ranks[listed]);
    if (count > listed)
        sbn__text_add(out, size, " and %d more", count - listed);
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

int *sbn__rank_sets_list(sbn_rank_sets *s, int set)
{
    int count = 0;
    for (int rank = set; rank < s->world_size; ++rank)
        if (s->first[rank] == set)
            s->listed[count++] = rank;
    return s->listed;
}
