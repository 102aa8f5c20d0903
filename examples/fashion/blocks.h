/* The blocks of the network, one after the other, on all devices of a model. */
#pragma once

#include "norm.h"

/* A replicated network on its devices: model.h. */
struct model {
    struct network network;
    size_t devices, replicas, batch; /* of this rank; batch: images per replica */
    size_t first, in_all;            /* this rank's first replica of all ranks' */
    struct device *device;
};

enum which_set { TRAIN, TEST };

/* Puts the images that a device is to work on into its input. */
void blocks_load(struct device *device, enum which_set set, const unsigned *index, size_t images);

/*
 * Forward on all devices at once, block by block: batch norm is where they meet. Without `norm`
 * by what fold.h has left in its place.
 */
void blocks_forward(struct model *model, struct norm *norm);

void blocks_backward(struct model *model, struct norm *norm);
