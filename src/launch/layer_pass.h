/*
 * The part of one layer in a pass: its arguments, and working memory that the group keeps from pass
 * to pass. The differences between forward, backward and frozen passes are in its kind.
 */
#pragma once

#include "collective/agreement.h"
#include "launch/workspace.h"
#include "layer/running.h"
#include "layer/saved.h"
#include "plan/plan.h"
#include "program/kernel_constants.h"

typedef struct sbn_layer_pass sbn_layer_pass;
typedef struct sbn_combining sbn_combining; /* src/launch/combining.h */

typedef struct sbn_layer_pass_kind {
    const char *operation;
    uint32_t code;            /* SBN_CODE_..., its name for other ranks */
    unsigned needs;           /* of shards: src/tensor/shard.h */
    int local;                /* combines nothing with other ranks */
    int fills;                /* 1: fills the saved statistics; 0: reads them */
    int has_backward;         /* ... for a backward pass, which may need a mask, or x from y */
    uint64_t least_count;     /* values per channel below which the pass is an error */
    const sbn_format *format; /* the narrow one */
    /* Takes the running statistics that the pass is to use, when they are up to date. Or NULL. */
    int (*take)(sbn_layer_pass *lp);
    /* Enqueues a replica's reduction. NULL: there is nothing to combine. */
    int (*reduce)(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                  const sbn_combining *combining, const sbn_wait *wait, cl_event *event);
    /*
     * Computes what step 3 needs from the group's accumulators: narrow ones of all channels,
     * wide ones of those of lp->wide, once these have been added to them.
     */
    void (*finish)(sbn_layer_pass *lp, const sbn_accumulators *accumulators);
    /* Where devices do not combine: keeps the statistics, and completes the table on the host. */
    void (*commit)(sbn_layer_pass *lp);
    /* Enqueues step 3 of a replica, without the store of its gradients. */
    int (*apply)(sbn_layer_pass *lp, sbn_replica *replica);
    /* Enqueues all of it in one launch: src/launch/at_once.h. NULL: never. */
    int (*whole)(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                 const sbn_wait *wait, cl_event *event);
} sbn_layer_pass_kind;

#define SBN_COLUMNS 4

struct sbn_layer_pass {
    sbn_layer_pass *next; /* of the pass, in the order of the call; or idle */
    sbn_group *group;
    const sbn_layer_pass_kind *kind;
    const struct sbn_steps *steps; /* who combines: src/pass/steps.h */
    sbn_batchnorm *layer;
    sbn_saved *saved;
    unsigned flags;
    const sbn_shard *given; /* by the caller, who must keep them until they are copied */
    sbn_shard *shards;
    sbn_shape *shapes;
    sbn_work *work; /* per replica */
    sbn_call call;

    uint64_t own;   /* values per channel of this rank */
    uint64_t count; /* of all replicas and ranks that it is combined with */
    uint32_t place; /* of the layer among the calls that other ranks must make, too */
    double weight;  /* of the batch in running statistics, where the host combines */
    size_t strip;   /* channels of a work-group, where one launch does all steps, else 0 */
    int at_once; /* devices combine it, the caller ends it before anything else, and it is alone */
    int pending; /* its accumulators are to be combined, or the wide ones to be added */
    size_t at;   /* where they stand among the words of the pass, or 0: src/pass/sums.h */
    sbn_result result;
    /* What was enqueued last in its memory without waiting for it, for a sentence; NULL: nothing. */
    const char *enqueued;
    char enqueued_of[64];
    int may_fail; /* as sbn__layer_pass_may_fail of that pass */

    double *columns[SBN_COLUMNS]; /* in one block, per channel: each kind names its own */
    unsigned char *wide;          /* ... behind them: the channel has terms in a wide accumulator */
    size_t wide_count;            /* of them */
    size_t channels_size;         /* for which there is room in both */
    sbn_channel_table gradients;  /* backward: SBN_GRADIENT_ROWS */
};

/*
 * Forgets commands that have failed in this memory, which are not to be waited for; fails, once, if
 * a pass had only enqueued them.
 */
int sbn__layer_pass_check_enqueued(sbn_layer_pass *lp);

/*
 * The beginning of every wait list of the pass on a replica: what the caller gave, so that no command
 * runs where an event of the caller's has failed. Where devices combine it is what any replica was given:
 * the sums of one whose commands do not run are missing on all.
 */
sbn_wait sbn__layer_pass_wait(const sbn_layer_pass *lp, const sbn_replica *replica);

/* 1 if commands of the pass may fail by an event: of a queue without order, of another queue, or of the caller's. */
int sbn__layer_pass_may_fail(const sbn_layer_pass *lp);

/* 1 if it is combined with other ranks; 1 if it is combined with other ranks or replicas. */
int sbn__layer_pass_is_joined(const sbn_layer_pass *lp);
int sbn__layer_pass_has_peers(const sbn_layer_pass *lp);

/* 1 if eps does not hide what the narrow format cuts (doc/order.md). */
cl_uint sbn__layer_pass_is_thin(const sbn_layer_pass *lp);

/* 1 if it updates the running statistics. */
int sbn__layer_pass_tracks(const sbn_layer_pass *lp);

sbn_layer_pass *sbn__layer_pass_create(sbn_group *group);
void sbn__layer_pass_destroy(sbn_layer_pass *lp);

/* Releases its events, its layer and saved statistics; its memory is kept. */
void sbn__layer_pass_release(sbn_layer_pass *lp);
