/*
 * How a forward pass updates running statistics: in the caller's buffers of the replica, in each that
 * has some, or else the layer's own, which the first replica updates; that one counts the batch.
 */
#pragma once

#include "launch/arguments.h"
#include "launch/layer_pass.h"

/* 1 if this replica updates, or counts. */
int sbn__tracking_concerns(const sbn_layer_pass *lp, size_t replica);

/* `any` stands in for buffers that the kernel does not access: all, if the replica is not concerned. */
sbn_tracking_arguments sbn__tracking_of(const sbn_layer_pass *lp, size_t replica, cl_mem any);

/* Where the host combines: counts the batch and updates the layer's own. */
void sbn__tracking_commit(sbn_layer_pass *lp);

/* Updates the caller's buffers of a replica where the host combines. Blocks. */
int sbn__tracking_on_host(sbn_layer_pass *lp, sbn_replica *replica);
