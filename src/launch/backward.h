/* Kernels of a backward pass, and what of them a replica needs. */
#pragma once

#include "launch/combining.h"
#include "launch/fusion.h"
#include "launch/layer_pass.h"

/* Enqueues step 1 as the layer pass's kind does: sums of dy and dy (x - mean). */
int sbn__backward_reduce(sbn_layer_pass *lp, sbn_replica *replica, const sbn_reduce_plan *plan,
                         const sbn_combining *combining, const sbn_wait *wait, cl_event *event);

/* 1 if step 3 writes tensors of a replica: dx, or the residual's gradient. */
int sbn__backward_applies(const sbn_layer_pass *lp, size_t replica);

/*
 * The shard as step 3 is to see it, and what it writes: where dx is not wanted, the residual's
 * gradient takes its place.
 */
sbn_backward_outputs sbn__backward_outputs_of(const sbn_layer_pass *lp, sbn_shard *shard);

/* The arguments of step 3 for the tensors of a shard of `outputs_of`. */
sbn_backward_tensor_arguments sbn__backward_tensors(const sbn_layer_pass *lp, size_t replica,
                                                    const sbn_shard *shard);

/* Enqueues step 3; constant statistics: dx = weight invstd dy. */
int sbn__backward_launch(sbn_layer_pass *lp, sbn_replica *replica, cl_event *event);

/* Enqueues the store of the gradients of weight and bias, behind step 3. */
int sbn__backward_store(sbn_layer_pass *lp, sbn_replica *replica);
