/*
 * The passes: forward, backward, evaluation, recomputation.
 *
 * Each takes one sbn_shard for each replica of this process, in the order of the group's queues.
 * All ranks of a group make the same training passes in the same order. Evaluation with running
 * statistics and recomputation never communicate.
 *
 * A pass in training has three steps: each replica reduces its shard to sums, the sums are combined
 * over all replicas of the group, and each replica computes its outputs from them. No function
 * waits for the last step: outputs are complete when the shard's event, or the queue, says so.
 *
 * Who combines decides what blocks:
 *
 *   device-combined   all replicas of the group are in one cl_context, at most 4, on one device or
 *                     on devices that work in the host's memory, and no other rank takes part. A
 *                     training pass only enqueues.
 *   host-combined     all other groups. sbn_forward and sbn_backward wait for the sums.
 *
 * Device-combined, a pass returns before its statistics are known. What needs them waits for them:
 * sbn_saved_stats, sbn_batchnorm_running_stats, a checkpoint, sbn_evaluate, sbn_batchnorm_fold,
 * sbn_batchnorm_set_group, and host-combined passes. A command that fails on a device after its
 * pass has returned is an error, with OpenCL's code, of those calls. The next pass in the same
 * working memory tells it, too, if it has failed by then, unless all replicas have one in-order
 * queue and no wait list was given. The sentence names layer and pass. The running statistics are
 * then those without that pass, its outputs and `saved` are undefined, and later passes may have
 * failed with it. A later pass of the layer that had been enqueued already, and has
 * not failed, counts the failed one among the batches tracked, and so in the weight of
 * SBN_AVERAGE_CUMULATIVE.
 */
#ifndef SYNCBN_PASS_H
#define SYNCBN_PASS_H

#include <syncbn/batchnorm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a pass, or-ed together; 0: none. */
enum {
    SBN_KEEP_RUNNING_STATS = 1,   /* forward: do not update the running statistics */
    SBN_ACCUMULATE_GRADIENTS = 2, /* backward: add to weight_grad and bias_grad, do not overwrite */
    /*
     * backward: weight_grad and bias_grad receive the sums over the whole group, the same on all
     * replicas. Without it each replica receives the sums over its own shard (zeros without values),
     * to be averaged or added together with the model's other gradients. Leave gradients of this flag out of an
     * addition over replicas: n equal sums would count n times.
     */
    SBN_GLOBAL_GRADIENTS = 4
};

/* What a pass reports. */
typedef struct sbn_result {
    size_t size;      /* sizeof(sbn_result) */
    uint64_t count;   /* values per channel over the whole group */
    int synchronised; /* 0: the group timed out, and this pass used this rank's values alone */
    /* 1: a channel had blocks that needed the wide format; 0: none; -1: not known. */
    int wide;
} sbn_result;

#define SBN_RESULT_INIT \
    { \
        sizeof(sbn_result), 0, 0, 0 \
    }

/*
 * The forward pass, in training:
 *
 *   y = activation(a (x - mean) + bias + residual),   a = weight / sqrt(var + eps)
 *
 * mean and var are those of the whole group's x (Ioffe & Szegedy 2015, algorithm 1).
 *
 * Buffers. Reads x, weight and bias if the layer is affine, and the residual if it adds one; writes
 * y. `saved` (of this layer) is filled for sbn_backward and sbn_recompute. Until they have run, x
 * must stay as it is, and the residual until sbn_recompute has. With from_output, y, weight and
 * bias must stay instead of x until sbn_backward has run. The running statistics are updated.
 *
 * `flags` is 0 or SBN_KEEP_RUNNING_STATS. `result` is room for one sbn_result, or NULL.
 *
 * In a host-combined group it blocks until the group's sums are here, at most for the group's
 * timeout after the last progress. In a device-combined group it only enqueues. In both it waits
 * for weight and bias of a layer with from_output, and does not wait for the outputs.
 *
 * In evaluation or frozen the layer uses its running mean and variance and does not change them;
 * `saved` keeps them for sbn_backward. Such a pass needs no other rank, one value per channel is
 * enough, and result->count is this rank's own. It may wait for an earlier copy of the statistics.
 *
 * NaN and Inf in a channel make its mean NaN or Inf and its variance and y NaN. Other channels are
 * not affected. A spread whose squares overflow a float (a standard deviation of 2^60 or more in
 * planes of at least 256 elements; the limit rises to 2^64 for planes of one) gives variance +Inf
 * and y = bias, or NaN where x - mean overflows as well; weight_grad and dx of such a channel are 0
 * or NaN.
 *
 * Errors. An error before the ranks have agreed is reported on all ranks and changes nothing: no
 * statistics, no outputs, no gradients.
 * - SBN_INVALID_ARGUMENT: an argument is wrong.
 * - SBN_TOO_FEW_VALUES: there is one value per channel over the whole group. (None at all is no
 *   error and changes nothing.)
 * - SBN_DISAGREEMENT: the ranks made different calls. SBN_REMOTE_ERROR: another rank failed.
 * - SBN_TIMEOUT, SBN_ABORTED, SBN_TRANSPORT_ERROR, SBN_GROUP_FAILED: the group takes no more
 *   passes; see sbn_timeout_action and sbn_group_abort.
 * - SBN_OUT_OF_MEMORY. Without memory to tell the other ranks of it the group has failed.
 * - OpenCL's codes. A device that fails after the ranks have agreed leaves the
 *   outputs undefined and the group failed: make one more pass, which fails at once and tells the
 *   other ranks. A command that a device refuses in a device-combined group (or clFlush,
 *   clRetainEvent, memory for commands, or the build of a program) leaves `saved` empty; if the
 *   sums are combined by then, gradients and running statistics have changed. For a single replica
 *   on a CPU, which may do all steps in one launch, it leaves `saved`, y and dx undefined. Nothing
 *   else changes then, and the group stays usable.
 */
SBN_API int sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                        unsigned flags, sbn_result *result);

/*
 * The backward pass of the forward pass that filled `saved`:
 *
 *   bias_grad = sum dy,   weight_grad = sum dy xhat
 *   dx = weight invstd (dy - sum(dy) / n - xhat sum(dy xhat) / n)
 *
 * with invstd = 1 / sqrt(var + eps), xhat = (x - mean) invstd, and sums over the n values per
 * channel of the group (Ioffe & Szegedy 2015, section 3). With an activation, dy stands here for dy
 * times its derivative; residual_grad is that product. Where SBN_EPS_CLAMP replaced the variance by
 * eps, the variance is a constant and the last term is 0.
 *
 * Buffers. Shapes are those of the forward pass. Reads x, dy, weight, and bias if the layer has an
 * activation and no residual. With from_output it reads y instead of x, and always bias. Writes dx,
 * residual_grad, weight_grad and bias_grad; each may be left out (mem NULL).
 *
 * `flags` may have SBN_GLOBAL_GRADIENTS and SBN_ACCUMULATE_GRADIENTS. `result` is room for one
 * sbn_result, or NULL. Blocks as sbn_forward does. Any number of backward passes may read `saved`.
 *
 * If `saved` is of a forward pass in evaluation, or frozen, mean and variance are constants:
 *
 *   dx = weight invstd dy
 *
 * Such a pass needs no other rank, unless SBN_GLOBAL_GRADIENTS is given. It reads x (or y) only for
 * the gradients of weight and bias, and for an activation without a residual.
 *
 * NaN and Inf in dy are no error: bias_grad becomes NaN or Inf, weight_grad and dx of that channel
 * NaN; with constant statistics dx is NaN where dy is. Both are NaN also where a float overflows in
 * dy (x - mean), or, over up to 256 elements, in the sum of these, of dy less g, or in g times the
 * sum of x - mean; g is about the mean of their dy. If invstd^2 sum(dy (x - mean)) / n overflows, or,
 * without from_output, weight invstd times that, dx of that channel is NaN or Inf; so is dx of an
 * element whose last term overflows. Without values in the whole group the gradients are zero. On
 * out-of-order queues, and in host memory that is copied, end a pass that accumulates gradients
 * before you begin another that adds to the same buffers.
 *
 * Errors. Those of sbn_forward. SBN_INVALID_ARGUMENT also for a `saved` that is empty or another
 * layer's, and for other shapes than those of the forward pass. Where an error of sbn_forward
 * leaves the running statistics as they were, one of sbn_backward leaves weight_grad and bias_grad so.
 */
SBN_API int sbn_backward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                         unsigned flags, sbn_result *result);

/*
 * Evaluation, for inference: the forward formula with running mean and variance.
 *
 * Reads x, weight, bias, residual; writes y. Each rank calls it when it likes. Does not wait for
 * other ranks, nor for the queues, unless the running statistics have changed while an earlier copy
 * of them to a device is still under way.
 *
 * A layer without running statistics uses the batch's instead: then the call synchronises and
 * blocks as sbn_forward does, and all ranks must make it. One value per channel is enough.
 *
 * Errors. SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY, OpenCL's codes; without running statistics those
 * of sbn_forward. If a device refuses a command, the replicas before it may have written their y,
 * and have no event for it. Nothing else has changed, and the group stays usable. The same holds
 * for sbn_recompute, and for y, dx and the gradients of a layer in evaluation or frozen.
 */
SBN_API int sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);

/*
 * Recomputation: y again from x and `saved`, with the same bits as the forward pass that filled it.
 *
 * Reads x, weight, bias, residual; writes y. No statistics are computed or updated. Waits for
 * nothing, and communicates nothing.
 *
 * Errors. As of sbn_evaluate. SBN_INVALID_ARGUMENT also for a `saved` that is empty or another
 * layer's.
 */
SBN_API int sbn_recompute(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved);

/* A pass under way, of one layer or of several. */
typedef struct sbn_pass sbn_pass;

/* How many passes of one group may be under way. */
#define SBN_MAX_PASSES 64

/*
 * Begins what sbn_forward does, so that other work can run while the sums are combined. End it with
 * sbn_pass_end. Between ranks such a pass sends two messages where sbn_forward mostly sends one
 * (doc/mpi.md, "Messages").
 *
 * Does not wait for the reduction or for other ranks. It waits for weight and bias of a layer with
 * from_output. Host-combined it also waits for earlier uses of the working memory that it needs
 * and, if it fails, until the other ranks know. They learn of it in calls of this group's passes
 * and in sbn_exchange_end, not while they wait for this rank in another group, such as a part of
 * this one: both calls then end by their timeout. End the passes of one group before you begin
 * those of another where that matters.
 *
 * Between begin and end you may enqueue other work on the same queues and begin other passes, up to
 * SBN_MAX_PASSES. Passes of one group are combined in the order in which they began and may be
 * ended in any order. The shards are copied. Their buffers, their wait lists and `saved` must stay
 * until sbn_pass_end has returned.
 *
 * Errors. Those of sbn_forward; *pass is then NULL and there is no pass. The other ranks are told,
 * except of NULL for `pass`, of a handle that is no layer, of no branches, of a wrong size of a
 * branch, and of more than SBN_MAX_PASSES or SBN_MAX_BRANCHES: they wait for this rank then.
 */
SBN_API int sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                              unsigned flags, sbn_pass **pass);

/* Begins what sbn_backward does. Waits for what sbn_forward_begin waits for, and has its rules. */
SBN_API int sbn_backward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                               unsigned flags, sbn_pass **pass);

/*
 * Moves every pass of the group on as far as possible. Never blocks.
 *
 * Sets *ready (may be NULL) to 1 when sbn_pass_end of this pass will not wait. Call it while other
 * work runs: some transports make progress only within calls. Do not wait by calling it until
 * ready: only sbn_pass_end observes the timeout. Errors of the pass are kept for sbn_pass_end.
 */
SBN_API int sbn_pass_progress(sbn_pass *pass, int *ready);

/*
 * Ends a pass: blocks as sbn_forward does, then enqueues the outputs. A pass ends exactly once,
 * whatever this returns.
 *
 * `result` (may be NULL) is room for one sbn_result; for a pass of several layers, for one of each,
 * in their order.
 *
 * Errors. Those of sbn_forward.
 */
SBN_API int sbn_pass_end(sbn_pass *pass, sbn_result *result);

/* One layer of a pass of several: what sbn_forward or sbn_backward takes. */
typedef struct sbn_branch {
    size_t size;             /* sizeof(sbn_branch) */
    sbn_batchnorm *layer;    /* all branches are of one group */
    const sbn_shard *shards; /* one per replica of this process */
    sbn_saved *saved;        /* filled by forward, read by backward */
    unsigned flags;          /* as of sbn_forward or sbn_backward */
} sbn_branch;

#define SBN_BRANCH_INIT \
    { \
        sizeof(sbn_branch), NULL, NULL, NULL, 0 \
    }

/* How many branches a call may have. */
#define SBN_MAX_BRANCHES 65536

/*
 * The forward pass of several layers of one group, which do not depend on each other: parallel
 * branches of a network. They combine in as many messages as one layer does. Blocks as sbn_forward
 * does. `results` has room for `count`, or is NULL.
 *
 * There are 1 to SBN_MAX_BRANCHES branches. The results are bit for bit those of one call per
 * layer, in the order of the branches. All layers are reduced before any output is written, so no
 * branch may write a tensor that another one reads or writes. Branches may share a replica's
 * weight_grad and bias_grad on an in-order queue, not in host memory that is copied, if the
 * later ones have SBN_ACCUMULATE_GRADIENTS, which adds them up. A layer may occur several times,
 * with saved statistics of its own each time.
 *
 * All ranks give the same layers in the same order. Layers that combine nothing with other ranks
 * (frozen, or in evaluation) may occur anywhere.
 *
 * Errors. Those of sbn_forward; for a wrong argument the sentence begins with "branches[2]: ". All
 * branches succeed or fail together: an error before the ranks have agreed, in whichever layer,
 * changes nothing in any. (A device-combined group may have updated the running statistics of some
 * layers when a device refuses a command.) SBN_DISAGREEMENT names the first place that differs, or
 * how many layers a rank gave. Of no branches and the like the other ranks are not told
 * (sbn_forward_begin).
 */
SBN_API int sbn_forward_branches(const sbn_branch *branches, size_t count, sbn_result *results);

/* The backward pass of several layers, as sbn_forward_branches. Blocks as sbn_forward does. */
SBN_API int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results);

/*
 * Begins what sbn_forward_branches does. Waits for what sbn_forward_begin waits for, and has its
 * rules. `branches` is copied.
 */
SBN_API int sbn_forward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass);

/*
 * Begins what sbn_backward_branches does. Waits for what sbn_forward_begin waits for, and has its
 * rules. `branches` is copied.
 */
SBN_API int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass);

#ifdef __cplusplus
}
#endif

#endif
