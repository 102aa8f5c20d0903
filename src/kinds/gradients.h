/* The rows of the gradients' table, from sums over the group or one replica, on the host. */
#pragma once

#include "launch/layer_pass.h"

/* Functions of the kinds of a backward pass. */
void sbn__backward_finish(sbn_layer_pass *lp, const sbn_accumulators *accumulators);
void sbn__backward_commit(sbn_layer_pass *lp);
