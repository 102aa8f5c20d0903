/*
 * How a forward pass updates running statistics: in the caller's buffers of the replica, in each that
 * has some, or else the layer's own, which the first replica updates; that one counts the batch.
 */
#ifndef SBN_LAUNCH_TRACKING_H
#define SBN_LAUNCH_TRACKING_H

#include "launch/layer_pass.h"

/* 1 if any shard of the pass has running statistics of the caller. */
int sbn__tracking_is_given(const sbn_layer_pass *lp);

/* 1 if this replica updates, or counts. */
int sbn__tracking_concerns(const sbn_layer_pass *lp, size_t replica);

/* The arguments that the kernels of a forward pass have for that. */
typedef struct sbn_tracking {
    cl_mem means, vars, layers;
    cl_ulong means_offset, vars_offset;
    cl_uint tracks, counts;
    cl_double weight, unbiased;
    cl_long batches;
} sbn_tracking;

#define SBN_TRACKING_ARGUMENTS(t) \
    SBN_ARG((t).means), SBN_ARG((t).means_offset), SBN_ARG((t).vars), SBN_ARG((t).vars_offset), \
        SBN_ARG((t).layers), SBN_ARG((t).tracks), SBN_ARG((t).counts), SBN_ARG((t).weight), \
        SBN_ARG((t).unbiased), SBN_ARG((t).batches)

enum { SBN_TRACKING_ARGUMENT_COUNT = 10 };

/* `any` stands in for buffers that the kernel does not access; `on`: 0, it accesses none. */
sbn_tracking sbn__tracking_of(const sbn_layer_pass *lp, size_t replica, int on, cl_mem any);

/* Adds what the command is to wait for, besides the pass's own. */
void sbn__tracking_wait(const sbn_layer_pass *lp, const sbn_tracking *tracking, size_t replica,
                        sbn_wait *wait);

/* The command is enqueued. The pass's event covers it, too. */
int sbn__tracking_enqueued(sbn_layer_pass *lp, const sbn_tracking *tracking, sbn_replica *replica,
                           cl_event event);

/* Updates the caller's buffers of a replica where the host combines. Blocks. */
int sbn__tracking_on_host(sbn_layer_pass *lp, sbn_replica *replica);

#endif
