/* The backward pass whose saved statistics are constants. */
#ifndef SBN_KINDS_FROZEN_BACKWARD_H
#define SBN_KINDS_FROZEN_BACKWARD_H

#include "launch/layer_pass.h"

/* The kind of a checked call whose saved statistics are constants. */
const sbn_layer_pass_kind *sbn__frozen_kind(const sbn_branch *branch);

#endif
