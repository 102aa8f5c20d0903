/*
 * The layers of one call, on one rank: of different sizes, with shards of their own (some of them empty), and a count
 * of what the rank's transport is asked to add.
 */
#pragma once

#include "support/ranks.h"

enum { BRANCHES_MAX = 8 };

/* Values of a channel: the usual ones, NaN, or too large for the narrow format. */
typedef enum branch_values { usual, nan_in_one, huge, huge_on_rank_1 } branch_values;

typedef struct branch_shape {
    const char *name;
    size_t channels, plane;
    size_t samples;       /* of a replica; some have none */
    unsigned flags, back; /* of the forward and the backward pass */
    branch_values put;    /* into x and dy */
    int fixed;            /* normalises by its running statistics */
    int again;            /* the layer of the branch before, once more */
    int full;             /* no replica is empty */
} branch_shape;

/* Reductions, and the words in them. */
typedef struct branch_cost {
    size_t starts[SBN_TAGS], words[SBN_TAGS];
} branch_cost;

typedef struct branch_set {
    size_t count;
    sbn_batchnorm *layers[BRANCHES_MAX];
    sbn_saved *saved[BRANCHES_MAX];
    slice slices[BRANCHES_MAX][RANK_REPLICAS];
    sbn_shard shards[BRANCHES_MAX][RANK_REPLICAS];
    sbn_branch forward[BRANCHES_MAX], backward[BRANCHES_MAX];
    sbn_result results[2][BRANCHES_MAX]; /* of the last forward and backward pass */
    sbn_transport inner;
    branch_cost cost;
    uint64_t first; /* digest, of branch_sets_same_bits */
} branch_set;

/* The set of a rank that is here; its transport counts from now on. */
branch_set *branch_set_of(const test_rank *m);

/* The sets of all ranks, of a sample for each replica; `replicas` as of ranks_open. */
void branch_sets_open(test_ranks *all, const fixture *f, int ranks, const size_t *replicas,
                      const branch_shape *shapes, size_t count);
void branch_sets_close(test_ranks *all);

/* Outputs to the pattern and running statistics to values of the layer's own; counts to 0. */
void branch_set_reset(test_rank *m);

/* A call for a layer: the forward passes have the first numbers, the backward ones the next; and all of them. */
int branch_set_call(test_rank *m, size_t number);
int branch_set_train(test_rank *m);

/* All layers in one call, forward and backward. */
int branch_set_train_together(test_rank *m);

/* Of outputs, saved and running statistics of all layers, which are then as before the passes. */
int branch_set_digest(test_rank *m);

/* The same of what a refused pass must leave alone; outputs have to be untouched. */
uint64_t branch_set_state(test_rank *m);

/* The first call since the opening keeps branch_set_digest's result; later ones check that each rank has the same. */
void branch_sets_same_bits(test_ranks *all, const char *what);
