/* Step 1 of a pass: each replica's accumulators, on its device. */
#pragma once

#include "launch/arguments.h"
#include "launch/layer_pass.h"

/*
 * The replica's kernels that reduce and combine its shard in this pass, with a fusion. They are loaded
 * when they are first needed.
 */
int sbn__reduce_kernels(const sbn_layer_pass *lp, sbn_replica *replica, int fusion,
                        sbn_kernels **kernels);

/* Enqueues a reduction, into the replica's `reduced`. It adds the arguments for slices. */
int sbn__reduce_launch(const sbn_layer_pass *lp, sbn_replica *replica, sbn_kernel *kernel,
                       sbn_arguments *arguments, const sbn_reduce_plan *plan, const sbn_wait *wait,
                       cl_event *event);

/*
 * Makes room for a replica's wide accumulators. If they are not known to be 0, it enqueues that
 * behind `wait`, and replaces the list and the event in *slot.
 */
int sbn__reduce_prepare_wide(const sbn_layer_pass *lp, sbn_replica *replica, sbn_wait *wait,
                             cl_event *slot);

/*
 * Enqueues the reduction on a replica, with the sum of its slices; an empty shard needs none. What used
 * its memory before must be over.
 */
int sbn__reduce(sbn_layer_pass *lp, sbn_replica *replica);

/*
 * Enqueues the reduction where devices combine: few slices stay apart, unless it adds them itself. Its
 * event is the replica's next one.
 */
int sbn__reduce_on_device(sbn_layer_pass *lp, sbn_replica *replica);
