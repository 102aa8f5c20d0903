/*
 * A group of two replicas with two layers, on which passes are called wrongly: a table of refusals
 * (support/refused.h) changes the arguments of one.
 */
#pragma once

#include "support/main.h"
#include "support/refused.h"

enum { REPLICAS = 2, CHANNELS = 3, SAMPLES = 4, PLANE = 7, COMMON = 400 };

/* A pass, in one call or only begun. */
typedef struct arguments {
    operation op;
    sbn_batchnorm *layer;
    sbn_shard shards[REPLICAS];
    sbn_saved *saved;
    unsigned flags;
    int no_shards, begun;
    size_t result; /* its size; 0: there is none */
} arguments;

/* "first" tracks running statistics, "second" does not. */
typedef struct stage_objects {
    sbn_group *group;
    sbn_batchnorm *layer, *second;
    const sbn_batchnorm *watched;         /* whose running statistics must not change: the first */
    sbn_saved *saved, *empty, *of_second; /* `empty` and `saved` are the first layer's */
    slice slices[REPLICAS];
    cl_mem common;   /* COMMON floats, 0, 1, ... 16, for tensors that share a buffer */
    arguments right; /* of the first layer */
} stage_objects;

extern stage_objects stage;

/* On the program's device and queue. `saved` and `of_second` have been filled. */
void stage_open(void);

/* Checks that the right calls still work. */
void stage_close(void);

sbn_buffer in_common(size_t offset);

/* Outputs to the pattern. */
void stage_reset(void);

/* A digest of all that a pass may change: statistics, outputs, the common buffer. */
uint64_t stage_state(void);

/* Makes the pass, whose outputs are the pattern again after a success. */
int stage_pass(const void *of);

/* The same of a call of two layers; the branches' shards are these. */
typedef struct two_layers {
    sbn_branch branches[2];
    sbn_shard shards[2][REPLICAS];
    int back;
} two_layers;

int stage_two_layers(const void *of);

/* Rows of an operation, and of its second replica's shard. */
#define OF(operation, field, value, words) ROW(op, operation, NULL), ROW(field, value, words)
#define BAD(operation, field, value, words) \
    OF(operation, shards[1].field, value, "replica 1|" words)

/* Rows that change the arguments of a right pass. */
#define REFUSE_PASS(right, rows) REFUSE("pass", stage_pass, right, stage_state, rows)
