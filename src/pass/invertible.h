/* Whether a forward pass's y will give x back: of layers with from_output. */
#ifndef SBN_PASS_INVERTIBLE_H
#define SBN_PASS_INVERTIBLE_H

#include "pass/layer_pass.h"

/*
 * Reads weight and bias of each replica of an open layer pass, and waits for them. Fails if a
 * weight is too small for what y keeps beside the bias. `shards` are the caller's, checked.
 */
int sbn__check_invertible(sbn_layer_pass *layer_pass, const sbn_shard *shards);

#endif
