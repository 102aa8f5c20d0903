/* Ranks in sentences: how they are listed, and which of them are named together. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <syncbn/transport.h>

/* Ranks beyond so many are counted, not listed. */
#define SBN_RANKS_LISTED 16

/* Room for any list. */
#define SBN_RANKS_SIZE 128

/* "rank 3", "ranks 0, 2" or "ranks 0, 1, [...], 15 and 4 more"; count > 0. */
void sbn__ranks_print(const int *ranks, int count, char *out, size_t size);

/* Ranks whose words are equal form a set; the lowest rank represents it. */
typedef struct sbn_rank_sets {
    int world_size, count;
    int first[SBN_MAX_WORLD_SIZE];  /* of each rank's set; -1: it is in none */
    int size[SBN_MAX_WORLD_SIZE];   /* of the set that the rank is the first of, else 0 */
    int listed[SBN_MAX_WORLD_SIZE]; /* the ranks of one set */
} sbn_rank_sets;

/*
 * Parts the ranks by `length` words each; those of a rank stand `stride` words behind those of the
 * rank before. Considers only the ranks of one set of `within`; NULL: all.
 */
void sbn__rank_sets_part(sbn_rank_sets *sets, const int64_t *words, size_t stride, size_t length,
                         const sbn_rank_sets *within, int set);

/* The next set after `set`, smallest sets first; -1 begins and ends. */
int sbn__rank_sets_next(const sbn_rank_sets *sets, int set);

/* The ranks of a set, as many as its size, in room that the next call uses again. */
int *sbn__rank_sets_list(sbn_rank_sets *sets, int set);
