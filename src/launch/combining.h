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

/*
 * Makes room in the tables, and adds to `wait` what uses them. With `tracks` the kernel updates the
 * running statistics. The buffers must stay as they are until the kernel is enqueued.
 */
int sbn__combining_begin(sbn_combining *combining, sbn_layer_pass *lp, sbn_replica *replica,
                         int tracks, sbn_wait *wait);

/* The kernel is enqueued. */
int sbn__combining_end(const sbn_combining *combining, sbn_layer_pass *lp, sbn_replica *replica,
                       cl_event event);

/*
 * Of a reduction that does not combine, with another tail; `any`: a buffer in the place of all that it does
 * not use.
 */
sbn_combining sbn__combining_none(cl_mem any, int tail);

/* Appends what a reduction takes of it, behind its tensors; `fills`: one of the forward pass. */
void sbn__add_tail_of(sbn_arguments *arguments, const sbn_combining *combining, int fills,
                      const sbn_replica *replica);
