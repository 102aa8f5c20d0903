/* The blocks of the network, one after the other, on all devices of a model. */
#ifndef FASHION_BLOCKS_H
#define FASHION_BLOCKS_H

#include "model.h"

/* Puts the images that a device is to work on into its input. */
void blocks_load(struct device *device, enum which_set set, const unsigned *index, size_t images);

/*
 * Forward on all devices at once, block by block: batch norm is where they meet. Without `norm`
 * by what fold.h has left in its place.
 */
void blocks_forward(struct model *model, struct norm *norm);

void blocks_backward(struct model *model, struct norm *norm);

#endif
