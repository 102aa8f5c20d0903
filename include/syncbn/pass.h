/*
 * The passes: forward in training, backward, evaluation, recomputation.
 *
 * Each takes one sbn_shard for each replica of this process, in the order of the
 * group's queues. All ranks of a group make the same training passes in the same
 * order. Evaluation with running statistics and recomputation never communicate.
 *
 * A pass in training has three steps: each replica reduces its shard to sums, the
 * sums are combined over all replicas of the group, and each replica computes its
 * outputs from them. The comment of each function says what it waits for. No function
 * waits for the last step: outputs are complete when the shard's event, or the queue,
 * says so.
 *
 * Passes that only enqueue. Where all replicas of the group are in one cl_context, at
 * most 64, on devices that have doubles, and no other rank takes part, the devices
 * combine the sums themselves. Then no training pass waits for a device, neither its
 * begin nor its end: all steps are ordered by events, on queues of any kind. (A pass with
 * constant statistics may wait for earlier copies of them, a forward pass of a layer with
 * from_output for weight and bias.)
 *
 *   known when the call returns    the count, the shapes, errors of arguments
 *   known on the devices           mean, variance, running statistics, gradients, and
 *                                  which channels need the wide format
 *
 * What is known on the devices is fetched when sbn_saved_stats,
 * sbn_batchnorm_running_stats, a checkpoint, sbn_evaluate, sbn_batchnorm_fold,
 * sbn_batchnorm_set_group or a pass that the host combines needs it: that call waits for
 * the passes before it. A command that fails on a device after its pass has returned is
 * an error, with OpenCL's code, of the calls that need its results, and of the next
 * pass in the same working memory: the sentence names layer and pass. The running
 * statistics are then those without that pass; its outputs and `saved` are undefined;
 * passes that were enqueued behind it may have failed with it.
 */
#ifndef SYNCBN_PASS_H
#define SYNCBN_PASS_H

#include <syncbn/batchnorm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a pass, or-ed together. */
enum {
    SBN_KEEP_RUNNING_STATS = 1,   /* forward: do not update the running statistics */
    SBN_ACCUMULATE_GRADIENTS = 2, /* backward: add to weight_grad and bias_grad, do not overwrite */
    /*
     * backward: weight_grad and bias_grad receive the sums over the whole group, the
     * same on all replicas. Leave such gradients out of a later averaging over
     * replicas: averaging n equal sums is harmless, but adding them counts n times.
     * Without this flag each replica receives the sums over its own shard, to be
     * averaged or added together with the model's other gradients; a shard without
     * values gives zeros, whatever NaN other replicas have.
     */
    SBN_GLOBAL_GRADIENTS = 4
};

/* What a pass reports. */
typedef struct sbn_result {
    size_t size;      /* sizeof(sbn_result) */
    uint64_t count;   /* values per channel over the whole group */
    int synchronised; /* 0: the group timed out, and this pass used this rank's values alone */
    /*
     * 1: a channel's sums needed the wide format, and a second reduction; 0: none did; -1: not
     * known, for the devices combine and decide later.
     */
    int wide;
} sbn_result;

#define SBN_RESULT_INIT \
    { \
        sizeof(sbn_result), 0, 0, 0 \
    }

/* A pass under way, of one layer or of several. */
typedef struct sbn_pass sbn_pass;

/* How many passes of one group may be under way. */
#define SBN_MAX_PASSES 64

/*
 * Begins a forward pass in training. Returns without waiting for the reduction or for
 * other ranks; waits only, where the host combines, for earlier uses of the working
 * memory that it needs, for weight and bias of a layer with from_output, or, if it fails, until
 * the other ranks know.
 *
 *   y = a (x - mean) + bias with a = weight / sqrt(var + eps),
 *
 * mean and var those of the whole group's x; plus the residual, through the activation,
 * where the layer has them. Reads x, weight, bias, residual; writes y. Fills
 * `saved`, which backward and recomputation read; x must stay as it is until they
 * have run, the residual until recomputation has; of a layer with from_output y instead of x until
 * backward has, for which weight and bias must be the same then, too. Updates the running statistics unless
 * SBN_KEEP_RUNNING_STATS is given.
 *
 * Few values. One value per channel over the whole group is SBN_TOO_FEW_VALUES; no
 * values change nothing and succeed.
 *
 * NaN and Inf in a channel make its mean NaN or Inf and its variance and y NaN; other
 * channels are not affected. A spread whose squares overflow a float (|x - mean|
 * beyond 2^58) gives variance +Inf and y = bias, or NaN where x - mean overflows as
 * well; gradients of such a channel are 0 or NaN.
 *
 * A layer in evaluation, or frozen, uses its running mean and variance instead and
 * does not change them; `saved` keeps them for the backward pass. Such a pass
 * combines nothing and needs no other rank; one value per channel is enough; the
 * result's count is this rank's own.
 *
 * Between begin and end, other work may be enqueued on the same queues and other
 * passes may be begun, up to SBN_MAX_PASSES under way. Passes of one group are
 * combined in the order they began and may be ended in any order. `saved`, the
 * shards' buffers and wait lists must stay until end has returned; the shards
 * themselves are copied.
 *
 * Errors. If begin fails there is no pass, and in a group of several ranks the others
 * have been told. (Not of a handle that is no layer, of a wrong size of a branch, or
 * of more than SBN_MAX_PASSES or SBN_MAX_BRANCHES: these fail on this rank alone.) An error before the
 * ranks have agreed changes nothing: no statistics, outputs or gradients; but a device
 * that refuses a command in the midst of a pass that only enqueues leaves `saved` empty,
 * and, of several layers, may leave some with their running statistics updated; so may
 * a driver that has no memory for the event of the last command (clRetainEvent), or
 * that refuses to flush the queue (clFlush).
 * A later one (of a device) leaves the outputs undefined and the group failed; then begin one
 * more pass, which fails at once on this rank and tells the others.
 */
SBN_API int sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                              unsigned flags, sbn_pass **pass);

/*
 * Begins the backward pass of the forward pass that filled `saved`. Waits for what
 * sbn_forward_begin waits for.
 *
 * Shapes are those of the forward pass. Reads x, dy, weight, and the bias if the layer has
 * an activation and no residual; of a layer with from_output y in the place of x, and the bias, and
 * does not need x; writes dx and residual_grad (mem NULL: not wanted),
 * weight_grad and bias_grad. With sums over the n values per channel of the
 * group and xhat = (x - mean) invstd, invstd = 1 / sqrt(var + eps):
 *
 *   bias_grad = sum dy,  weight_grad = sum dy xhat,
 *   dx = weight invstd (dy - sum(dy) / n - xhat sum(dy xhat) / n)
 *
 * Ioffe & Szegedy 2015, section 3. Of a layer with an activation dy stands here for dy times
 * the activation's derivative; residual_grad is that product. Where SBN_EPS_CLAMP replaced the
 * variance by eps,
 * the variance is a constant and the last term is 0. If `saved` holds running
 * statistics (of a forward pass in evaluation, or frozen) mean and variance are
 * constants:
 *
 *   dx = weight invstd dy.
 *
 * Such a pass combines nothing with other ranks, unless SBN_GLOBAL_GRADIENTS is given.
 * It reads x, or y, for the gradients of weight and bias, and for an activation without a
 * residual: it may be missing where there is neither (no replica wants those gradients and
 * the flag is not given).
 *
 * NaN and Inf in dy are no error: bias_grad becomes NaN or Inf, weight_grad and dx of
 * that channel NaN; with constant statistics dx is NaN where dy is. With no values
 * over the whole group the gradients are zero. On out-of-order queues, end a pass
 * that accumulates gradients before beginning another that adds to the same buffers.
 */
SBN_API int sbn_backward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                               unsigned flags, sbn_pass **pass);

/*
 * Moves every pass of the group on as far as possible. Never blocks.
 *
 * Sets *ready (may be NULL) to 1 when sbn_pass_end of this pass will not wait. Call it
 * while other work runs: some transports make progress only within calls. Returns
 * SBN_SUCCESS for any valid pass; errors are kept for end. Do not wait by calling this
 * until ready: only end observes the timeout.
 */
SBN_API int sbn_pass_progress(sbn_pass *pass, int *ready);

/*
 * Ends a pass. Where the host combines, blocks until this rank's reduction is done and
 * the group's sums are here, at most for the group's timeout after the last progress;
 * then enqueues the outputs and returns without waiting for them.
 *
 * A pass ends exactly once, whatever this returns. `result` (may be NULL) is room for
 * one sbn_result; for a pass of several layers, for one of each, in their order.
 */
SBN_API int sbn_pass_end(sbn_pass *pass, sbn_result *result);

/*
 * A forward pass at once: sbn_forward_begin and sbn_pass_end. Blocks as sbn_pass_end
 * does.
 *
 * For a single replica on a CPU the pass may do all steps in one launch, or, of a tensor
 * that is much larger than the cache, work on a few channels at a time. An error of the
 * device before the last channels are combined, or a command that it refuses, then
 * leaves `saved`, y and dx undefined. It changes nothing else: weight_grad and bias_grad
 * are written by the last command, as the running statistics are, and what is said above
 * of those holds for all three. The group stays usable.
 */
SBN_API int sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                        unsigned flags, sbn_result *result);

/*
 * A backward pass at once: sbn_backward_begin and sbn_pass_end. Blocks as sbn_pass_end
 * does. Works as sbn_forward does for a single replica, with the same consequence.
 */
SBN_API int sbn_backward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                         unsigned flags, sbn_result *result);

/*
 * One layer of a pass of several: what sbn_forward or sbn_backward takes. Parallel
 * branches of a network, which do not depend on each other, combine in as many
 * messages as one layer does.
 */
typedef struct sbn_branch {
    size_t size; /* sizeof(sbn_branch) */
    sbn_batchnorm *layer;
    const sbn_shard *shards; /* one per replica of this process */
    sbn_saved *saved;        /* filled by forward, read by backward */
    unsigned flags;
} sbn_branch;

#define SBN_BRANCH_INIT \
    { \
        sizeof(sbn_branch), NULL, NULL, NULL, 0 \
    }

/* How many branches a call may have. */
#define SBN_MAX_BRANCHES 65536

/*
 * Begins the forward pass of several layers of one group. Waits for what
 * sbn_forward_begin waits for.
 *
 * There are 1 to SBN_MAX_BRANCHES branches. The results are bit for bit those of one call per
 * layer in the order of the branches. All layers are reduced before any output is
 * written, so no branch may write a tensor that another one reads or writes
 * (SBN_INVALID_ARGUMENT names both). A replica's weight_grad and bias_grad may be shared
 * between branches on an in-order queue if the later ones have
 * SBN_ACCUMULATE_GRADIENTS, which adds them up. A layer may occur several times, with
 * saved statistics of its own each time. `branches` is copied; what it points to stays
 * as for a single layer.
 *
 * All branches succeed or fail together: an error before the ranks have agreed, in
 * whichever layer, changes nothing in any. If the arguments of one layer are wrong
 * the sentence begins with "branches[2]: ". All ranks give the same layers in the same
 * order; if not, the sentence names the first place that differs, or how many layers
 * a rank gave. Layers that combine nothing with other ranks (frozen, or in
 * evaluation) may occur anywhere and do not count there.
 */
SBN_API int sbn_forward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass);

/*
 * Begins the backward pass of several layers of one group, as
 * sbn_forward_branches_begin. Waits for what sbn_forward_begin waits for.
 */
SBN_API int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass);

/*
 * The forward pass of several layers at once. Blocks as sbn_pass_end does. `results`
 * has room for `count`, or is NULL.
 */
SBN_API int sbn_forward_branches(const sbn_branch *branches, size_t count, sbn_result *results);

/*
 * The backward pass of several layers at once. Blocks as sbn_pass_end does. `results`
 * has room for `count`, or is NULL.
 */
SBN_API int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results);

/*
 * Evaluation: the forward formula with running mean and variance. Does not wait for
 * other ranks, nor for the queues, unless the running statistics have changed while an
 * earlier copy of them to a device is still under way.
 *
 * Reads x, weight, bias, residual; writes y. Each rank calls it when it likes. A layer without
 * running statistics uses the batch's instead: then the call synchronises and blocks
 * as sbn_forward does, and all ranks must make it; one value per channel is enough.
 *
 * If a device refuses a command, the replicas before it may have written their y, and
 * have no event for it; nothing else has changed, and the group stays usable. The same
 * holds for sbn_recompute, and for a pass of a layer in evaluation or frozen with y, dx
 * and the gradients.
 */
SBN_API int sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);

/*
 * Recomputation: y again from x and `saved`, with the same bits as the forward pass
 * that filled it. Waits for nothing, and communicates nothing.
 *
 * Reads x, weight, bias, residual; writes y. No statistics are computed or updated.
 */
SBN_API int sbn_recompute(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved);

#ifdef __cplusplus
}
#endif

#endif
