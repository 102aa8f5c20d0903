/*
 * How a forward pass updates running statistics: in the caller's buffers of the replica, in each that
 * has some, or else the layer's own, which the first replica updates; that one counts the batch.
 */
#pragma once

#include "launch/arguments.h"
#include "launch/layer_pass.h"

/* 1 if any shard of the pass has running statistics of the caller. */
int sbn__tracking_is_given(const sbn_layer_pass *lp);

/* 1 if this replica updates, or counts. */
int sbn__tracking_concerns(const sbn_layer_pass *lp, size_t replica);

/* `any` stands in for buffers that the kernel does not access; `on`: 0, it accesses none. */
sbn_tracking_arguments sbn__tracking_of(const sbn_layer_pass *lp, size_t replica, int on,
                                        cl_mem any);

/* Adds what the command is to wait for, besides the pass's own. */
void sbn__tracking_wait(const sbn_layer_pass *lp, const sbn_tracking_arguments *tracking,
                        size_t replica, sbn_wait *wait);

/* The command is enqueued. */
int sbn__tracking_enqueued(sbn_layer_pass *lp, const sbn_tracking_arguments *tracking,
                           cl_event event);

/* Updates the caller's buffers of a replica where the host combines. Blocks. */
int sbn__tracking_on_host(sbn_layer_pass *lp, sbn_replica *replica);
