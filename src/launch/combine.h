/*
 * Step 2 on the devices of one context, in launches of its own: each replica's device adds all replicas' accumulators
 * and writes its own tables (cl/common/combine.cl), so that nothing but events lies between the steps.
 */
#pragma once

#include "launch/layer_pass.h"

/*
 * Enqueues the combining on a replica of what all replicas' reductions have left, with the update of
 * running statistics where that concerns the replica. Of a pass that is made at once it stores the
 * gradients of weight and bias. Its event is the replica's next one.
 */
int sbn__device_combine(sbn_layer_pass *lp, sbn_replica *replica);
