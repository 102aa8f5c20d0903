/* What the backward pass shares with the one of constant statistics. */
#ifndef SBN_PASS_BACKWARD_H
#define SBN_PASS_BACKWARD_H

#include "pass/fusion.h"
#include "pass/layer_pass.h"
#include "pass/shard.h"

/* What a backward pass needs of a shard besides x. */
#define SBN_BACKWARD_NEEDS (SBN_NEEDS_DY | SBN_MAY_DX | SBN_NEEDS_WEIGHT | SBN_MAY_GRADIENTS)

/* A row of a replica's host copy, which nothing else uses during the pass. */
float *sbn__gradient_row(const sbn_layer_pass *layer_pass, size_t replica, int which);

/*
 * Functions of the layer pass's kind: sums of dy and dy (x - mean), and the gradients of weight and
 * bias.
 */
int sbn__backward_reduce(sbn_layer_pass *layer_pass, sbn_replica *replica, int format,
                         const sbn_reduce_plan *plan, const sbn_wait *wait, cl_event *event);
int sbn__backward_finish(sbn_layer_pass *layer_pass, const sbn_accumulators *accumulators);
void sbn__backward_write_coefficients(sbn_layer_pass *layer_pass);
int sbn__backward_store(sbn_layer_pass *layer_pass, sbn_replica *replica);

/*
 * 1 if step 3 writes tensors of a replica, dx or the residual's gradient; 1 if there are gradients
 * of weight or bias to store.
 */
int sbn__backward_applies(const sbn_layer_pass *layer_pass, size_t replica);
int sbn__backward_stores(const sbn_layer_pass *layer_pass, size_t replica);

/*
 * The shard as step 3 is to see it, and what it writes: where dx is not wanted, the residual's
 * gradient takes its place.
 */
sbn_backward_outputs sbn__backward_outputs_of(const sbn_layer_pass *layer_pass, sbn_shard *shard);

/* The fusion of step 3: none where it makes no difference. */
int sbn__backward_fusion(const sbn_layer_pass *layer_pass, sbn_backward_outputs outputs);

/* Enqueues step 3; constant statistics: dx = weight invstd dy. */
int sbn__backward_launch(sbn_layer_pass *layer_pass, sbn_replica *replica, int constant,
                         cl_event *event);

/* The kind of a checked call whose saved statistics are constants. */
const sbn_layer_pass_kind *sbn__frozen_kind(const sbn_branch *branch);

#endif
