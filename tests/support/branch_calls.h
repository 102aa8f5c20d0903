/*
 * Calls of three layers over three ranks, of which one goes wrong on one of
 * them.
 */
#ifndef TESTS_SUPPORT_BRANCH_CALLS_H
#define TESTS_SUPPORT_BRANCH_CALLS_H

#include "support/branch_set.h"

enum { BRANCH_RANKS = 3, BRANCH_LAYERS = 3, BRANCH_ODD = 1 /* the rank that does otherwise */ };

/* Opens ranks with a set of layers each, checks, and closes them. */
void branches_with(const fixture *f, const branch_shape layers[BRANCH_LAYERS],
                   void (*check)(test_ranks *all));

/* The call of all other ranks, forward or backward; the odd rank may change it. */
typedef struct branch_call {
    sbn_branch list[BRANCH_LAYERS];
    size_t count;
    int back;
    sbn_result *results;
} branch_call;

branch_call branch_call_right(const test_rank *m, int back);
int branch_call_make(test_rank *m, const branch_call *c);

/* Work of a rank: all layers forward, or forward and backward; outputs to the pattern. */
int branches_forward(test_rank *m);
int branches_train(test_rank *m);
int branches_reset(test_rank *m);

/* A digest of all that a refused call must leave alone, on all ranks. */
uint64_t branches_state(test_ranks *all);

/* All get an error, the odd one its own; nothing changes, and the groups work again. */
void branches_refused(test_ranks *all, int (*work)(test_rank *), int own, const char *own_words,
                      int others, const char *words, const char *what);

#endif
