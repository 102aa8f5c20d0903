/* The products of a block, by CLBlast, over all images of a device at once. */
#pragma once

#include "device.h"

/* linear = columns x weights, the network's or the folded ones */
void gemm_forward(struct device *device, const struct network *network, int b, cl_mem parameters);

/* The weights' gradient = columns^T x d_linear */
void gemm_weights(struct device *device, const struct network *network, int b);

/* d_columns = d_linear x weights^T */
void gemm_columns(struct device *device, const struct network *network, int b, cl_mem d_columns);
