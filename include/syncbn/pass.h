/*
 * The passes: forward in training, backward, evaluation, recomputation.
 *
 * Each takes one sbn_shard per replica of this process, in the order of the
 * group's queues. All ranks of a group make the same training passes in the
 * same order; evaluation with running statistics and recomputation never
 * communicate.
 */
#ifndef SYNCBN_PASS_H
#define SYNCBN_PASS_H

#include <syncbn/batchnorm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A part of a buffer of floats, of the same context as the replica's queue. */
typedef struct sbn_buffer {
    cl_mem mem;
    size_t offset; /* in elements */
} sbn_buffer;

/*
 * One replica's share of the batch. A pass reads only the buffers it names;
 * the others may stay zero. All buffers are the caller's; none, of any replica, may
 * overlap one that the pass writes (SBN_INVALID_ARGUMENT names both; sub-buffers
 * count as buffers of their own).
 *
 * Events: the pass's commands wait for `wait_list` (which covers inputs and
 * outputs); if `event` is not NULL it receives an event, to be released by the
 * caller, that completes with the last of them. On an in-order queue neither
 * is needed. Queues are flushed, never finished. After an error *event is NULL.
 */
typedef struct sbn_shard {
    int dims;        /* 2 ... 5 */
    size_t shape[5]; /* N, C, then space; N or an extent of space may be 0: an empty shard,
                        whatever the others are */
    sbn_buffer x, y, dy, dx;
    sbn_buffer weight, bias;           /* `channels` floats; read by affine layers */
    sbn_buffer weight_grad, bias_grad; /* `channels` floats; mem NULL: not wanted */
    cl_uint num_wait;
    const cl_event *wait_list;
    cl_event *event;
} sbn_shard;

/* Per-call settings, or-ed together. */
enum {
    SBN_KEEP_RUNNING_STATS = 1,   /* forward: do not update the running statistics */
    SBN_ACCUMULATE_GRADIENTS = 2, /* backward: add to weight_grad and bias_grad, do not overwrite */
    SBN_GLOBAL_GRADIENTS = 4      /* backward: weight_grad and bias_grad receive the sums over the
                                     whole group, the same on all replicas. Leave such gradients
                                     out of a later averaging over replicas: averaging n equal sums
                                     is harmless, but adding them counts n times. Without this each
                                     replica receives the sum over its own shard, to be averaged or
                                     added with the model's other gradients. */
};

typedef struct sbn_result {
    size_t size;      /* sizeof(sbn_result) */
    uint64_t count;   /* values per channel over the whole group */
    int synchronised; /* 0: the group timed out and this pass used this rank's values alone */
    int wide; /* 1: some channel needed the wide format, at the price of a second reduction */
} sbn_result;

#define SBN_RESULT_INIT \
    { \
        sizeof(sbn_result), 0, 0, 0 \
    }

/* A pass under way, of one layer or of several. */
typedef struct sbn_pass sbn_pass;

/*
 * Forward in training: y = a (x - mean) + bias with a = weight / sqrt(var + eps),
 * mean and var those of the whole group's x. Reads x, weight, bias; writes y.
 *
 * Fills `saved` for backward and recomputation; x must stay as it is until
 * they have run. Updates the running statistics unless told not to. A total of
 * one value per channel is SBN_TOO_FEW_VALUES; a total of none changes
 * nothing and succeeds.
 *
 * NaN and Inf in a channel make its mean NaN or Inf and its variance and y NaN,
 * and touch no other channel. A spread whose squares overflow a float (|x - mean|
 * beyond 2^58) gives variance +Inf and y = bias, or NaN where x - mean overflows
 * too; gradients of such a channel are 0 or NaN.
 *
 * A layer in evaluation, or frozen, uses its running mean and variance instead
 * and changes nothing in them; `saved` keeps them for the backward pass. Such a
 * pass combines nothing: it neither needs nor waits for other ranks, one
 * value per channel is enough, and sbn_result counts this rank's own.
 *
 * begin enqueues the reduction and returns; end waits for it and for the other
 * ranks, and enqueues the rest. Between the two other work may be enqueued
 * on the same queues, and other passes begun, not more than SBN_MAX_PASSES in
 * all; passes of one group are combined in the order they began and may be
 * ended in any order. `saved`, shards' buffers and wait lists must live until
 * end returns; the shards themselves are copied. `result` may be NULL.
 *
 * If begin fails there is no pass; in a group of several ranks it has waited
 * for the others to tell them. (Not for a NULL handle, nor for a pass too many:
 * those the others cannot learn of.) A pass ends exactly once, whatever end
 * returns. An error before the ranks have agreed changes nothing: no
 * statistics, outputs or gradients. A later one (of a device) leaves outputs
 * undefined and the group failed; begin one more pass, which fails at once
 * here and tells the others.
 */
SBN_API int sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                              unsigned flags, sbn_pass **pass);

/*
 * Backward of the forward that filled `saved`, with the same shapes. Reads x,
 * dy, weight; writes dx (mem NULL: not wanted), weight_grad, bias_grad. With
 * the group's sums over n values per channel, xhat = (x - mean) invstd:
 *
 *   bias_grad = sum dy,  weight_grad = sum dy xhat,
 *   dx = weight invstd (dy - sum(dy) / n - xhat sum(dy xhat) / n)
 *
 * Ioffe & Szegedy 2015, section 3. With eps as a lower bound that decided, the
 * variance is a constant and the last term is 0. If `saved` holds running
 * statistics (of a forward in evaluation, or frozen) both are constants,
 *
 *   dx = weight invstd dy,
 *
 * the pass combines nothing with other ranks unless SBN_GLOBAL_GRADIENTS asks
 * for it, and x is read for the gradients of weight and bias alone: where no
 * replica wants any, and without that flag, x may be missing.
 *
 * NaN and Inf in dy are no error: bias_grad becomes NaN or Inf, weight_grad and
 * dx of that channel NaN (of constants: dx where dy is). The backward of an empty total has zero gradients. On out-of-order queues end a
 * pass that accumulates before beginning another that adds to the same buffers.
 */
SBN_API int sbn_backward_begin(sbn_batchnorm *layer, const sbn_shard *shards,
                               const sbn_saved *saved, unsigned flags, sbn_pass **pass);

/* How many passes of one group may be under way. */
#define SBN_MAX_PASSES 64

/*
 * Moves every pass of the group on as far as it will go without blocking, and
 * sets *ready (may be NULL) to 1 when end will not wait. Call it while other
 * work runs; some transports progress only when called. Errors are kept for
 * end: it returns SBN_SUCCESS for any valid pass. Only end knows the timeout:
 * do not wait by calling this until ready.
 */
SBN_API int sbn_pass_progress(sbn_pass *pass, int *ready);

/*
 * Waits for the combination, enqueues the rest, releases the pass. `result` has
 * room for one; of a pass of several layers, for one of each, in their order.
 */
SBN_API int sbn_pass_end(sbn_pass *pass, sbn_result *result);

/*
 * begin, progress and end in a row. For one replica on a CPU, alone in its group, a pass over much
 * more than the cache goes a few channels at a time. An error of its device before the last of them
 * are combined leaves outputs and `saved` undefined, changes nothing else, and the group goes on.
 */
SBN_API int sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                        unsigned flags, sbn_result *result);
SBN_API int sbn_backward(sbn_batchnorm *layer, const sbn_shard *shards, const sbn_saved *saved,
                         unsigned flags, sbn_result *result);

/*
 * Several layers in one pass: parallel branches of a network, which do not
 * depend on each other, combine in as many messages as one layer does
 * (<syncbn/transport.h> has the words). Each branch is what sbn_forward or sbn_backward is given: a
 * layer, its shards, saved statistics and flags.
 */
typedef struct sbn_branch {
    sbn_batchnorm *layer;
    const sbn_shard *shards; /* one per replica of this process */
    sbn_saved *saved;        /* filled by forward, only read by backward */
    unsigned flags;
} sbn_branch;

/* How many layers a call may have. */
#define SBN_MAX_BRANCHES 65536

/*
 * Forward, or backward, of several layers of one group, 1 to SBN_MAX_BRANCHES
 * of them. Results are bit for bit those of one call for each layer, in the order
 * of the branches. All layers are reduced before any output is written, so no
 * branch may write a tensor that another one touches. A replica's weight_grad and
 * bias_grad may be shared by several branches, where SBN_ACCUMULATE_GRADIENTS of
 * the later ones adds them up on an in-order queue. A layer may come several times, with saved statistics of its own each
 * time. `branches` is copied; what they point to lives as for a single layer.
 *
 * The pass stands or falls as one: an error before the ranks have agreed, in
 * whichever layer, changes nothing in any. The sentence then begins with
 * "branches[2]: " if the call of that layer was wrong. All ranks give the
 * same layers in the same order; when they do not, the first place that differs
 * is named, or how many layers a rank gave. Layers that combine nothing with
 * other ranks (frozen, or in evaluation) may stand anywhere in the call, and
 * do not count there. `results` has room for `count`, or is NULL.
 */
SBN_API int sbn_forward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass);
SBN_API int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass);
SBN_API int sbn_forward_branches(const sbn_branch *branches, size_t count, sbn_result *results);
SBN_API int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results);

/*
 * Evaluation: forward's formula with the running mean and variance. Reads x,
 * weight, bias; writes y. Each rank calls it when it likes. A layer without
 * running statistics uses the batch's instead, synchronised as in training
 * (then all ranks must call it; one value per channel is legal).
 */
SBN_API int sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);

/*
 * Computes y again from x and `saved`, with the same bits as the forward that
 * filled it: no statistics, no communication, nothing updated.
 */
SBN_API int sbn_recompute(sbn_batchnorm *layer, const sbn_shard *shards, const sbn_saved *saved);

#ifdef __cplusplus
}
#endif

#endif
