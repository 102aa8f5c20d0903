/* Step 1 of a pass: each replica's accumulators, on its device. */
#ifndef SBN_PASS_REDUCE_H
#define SBN_PASS_REDUCE_H

#include "pass/layer_pass.h"

/* How many arguments the slices add; `arguments` must have room for them after `count`. */
#define SBN_SLICE_ARGUMENTS 10

/* Enqueues a reduction to `partial` or, with one slice, to the accumulators. */
int sbn__reduce_launch(const sbn_chunk *chunk, sbn_replica *replica, sbn_kernel *kernel,
                       sbn_argument *arguments, size_t count, const sbn_reduce_plan *plan,
                       const sbn_wait *wait, cl_event *event);

/* Enqueues a chunk's reduction on a replica in a format; an empty shard needs none. */
int sbn__reduce(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica, int format);

#endif
