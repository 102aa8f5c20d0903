/*
 * Refusals of calls that all ranks make (support/refused.h): the rows change the arguments of rank 1, or of the ranks
 * that they name. Each rank gets a sentence, nothing has changed, and the groups go on.
 */
#pragma once

#include "support/ranks.h"
#include "support/refused.h"

enum { ODD_RANK = 1, ALL_RANKS = 0xffff };

/* A call of the n-th of a function that the test wraps fails (support/wraps.h); n = 0: none. */
typedef struct failure {
    int function, n;
} failure;

typedef struct ranks_call {
    size_t size;                                      /* of the arguments */
    void (*right)(test_rank *m, void *arguments);     /* NULL: all are 0 */
    int (*call)(test_rank *m, const void *arguments); /* by rank_says */
    void (*reset)(test_rank *m);                      /* before; outputs to a pattern */
    uint64_t (*state)(test_rank *m);                  /* what must not change */
    int (*go_on)(test_rank *m); /* what works before and after; NULL: nothing need work after */
} ranks_call;

void ranks_refuse(test_ranks *all, const ranks_call *call, const refusal *rows, size_t count);

#define RANKS_REFUSE(all, call, rows) ranks_refuse(all, call, rows, sizeof(rows) / sizeof *(rows))

/* A row by which the ranks disagree. */
#define DISAGREE(field, value, ...) ROW(field, value, __VA_ARGS__, .status = SBN_DISAGREEMENT)

/* One check for each rank: the odd one is told something else, or fails alone. */
void ranks_expect(const test_ranks *all, int own, const char *own_words, int others,
                  const char *words, const char *what);
