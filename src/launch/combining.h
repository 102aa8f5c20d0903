/*
 * What a kernel that combines takes, and the tables that it writes: in a launch of its own
 * (combine.h), behind a reduction or in that of a whole pass (at_once.h).
 */
#pragma once

#include "launch/arguments.h"
#include "launch/layer_pass.h"

/* Of a pass that fills saved statistics `statistics` and `tracking`, of others `gradients` and `store`. */
struct sbn_combining {
    sbn_tail_arguments tail; /* of a value below */
    sbn_combine_arguments sums;
    sbn_forward_combine_arguments statistics;
    sbn_tracking_arguments tracking;
    sbn_backward_combine_arguments gradients;
    sbn_store_arguments store;
};

/* What a reduction of the GPU form does behind its sums. */
enum { SBN_TAIL_NONE, SBN_TAIL_ADDS, SBN_TAIL_COMBINES };

/* 1 if there are gradients of weight or bias to store. */
int sbn__backward_stores(const sbn_layer_pass *lp, size_t replica);
sbn_store_arguments sbn__store_arguments(const sbn_layer_pass *lp, size_t replica);

/* Enqueues a kernel that combines. */
typedef int sbn_combine_launch(sbn_layer_pass *lp, sbn_replica *replica,
                               const sbn_combining *combining, const sbn_wait *wait,
                               cl_event *event);

/* Enqueues it behind `wait` and what uses the tables. Its event is the replica's next one. */
int sbn__combine_by(sbn_combine_launch *launch, sbn_layer_pass *lp, sbn_replica *replica,
                    sbn_wait *wait);

/* Of a reduction that does not combine, with another tail; `any`: a buffer in the place of all that it does not use. */
sbn_combining sbn__combining_none(cl_mem any, int tail);

/* Appends what a reduction takes of it, behind its tensors; `fills`: one of the forward pass. */
void sbn__add_tail_of(sbn_arguments *arguments, const sbn_combining *combining, int fills,
                      const sbn_replica *replica);

/* Appends what a kernel that combines takes of it. */
void sbn__add_combining(sbn_arguments *arguments, const sbn_combining *combining, int fills);
