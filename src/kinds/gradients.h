/* The rows of the gradients' table, from sums over the group or one replica, on the host. */
#ifndef SBN_KINDS_GRADIENTS_H
#define SBN_KINDS_GRADIENTS_H

#include "launch/backward.h"
#include "tensor/shard.h"

/* Step 2 as the layer pass's kind does. */
void sbn__backward_finish(sbn_layer_pass *lp, const sbn_accumulators *accumulators);
void sbn__backward_write_coefficients(sbn_layer_pass *lp);

/* What kinds with sums over x and dy have in common. */
#define SBN_BACKWARD_SUMS \
    .needs = SBN_BACKWARD_NEEDS | SBN_NEEDS_X, .least_count = 1, .format = &sbn_backward_narrow, \
    .reduce = sbn__backward_reduce, .finish = sbn__backward_finish

#endif
