/* Moves a layer to another group. */
#pragma once

#include "layer/batchnorm.h"

/*
 * Everything that can fail, before anything changes; then the move itself. *shapes, NULL before, are the layer's in the
 * other group until it takes them, and to be freed. Saved statistics follow when they are next used.
 */
int sbn__layer_move_prepare(sbn_batchnorm *layer, sbn_group *group, sbn_shape **shapes);
void sbn__layer_move_finish(sbn_batchnorm *layer, sbn_group *group, sbn_shape **shapes);
