/* Checks that a forward pass's y will give x back, for layers with from_output. */
#pragma once

#include "layer/batchnorm.h"

/*
 * Reads weight and bias of each replica, and waits for them. Fails if a weight is too small for what y keeps beside the
 * bias. The shards are checked, in the library's own structs; `weight` and `bias` have room for the layer's channels.
 */
int sbn__check_invertible(const sbn_batchnorm *layer, const sbn_shard *shards,
                          const sbn_shape *shapes, const char *operation, float *weight,
                          float *bias);
