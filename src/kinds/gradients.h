/* The rows of the gradients' table, from sums over the group or one replica, on the host. */
#ifndef SBN_KINDS_GRADIENTS_H
#define SBN_KINDS_GRADIENTS_H

#include "launch/layer_pass.h"

/* Step 2 as the layer pass's kind does. */
void sbn__backward_finish(sbn_layer_pass *lp, const sbn_accumulators *accumulators);
void sbn__backward_write_coefficients(sbn_layer_pass *lp);

#endif
