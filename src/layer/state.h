/* Moves a layer to another group. */
#pragma once

#include "layer/batchnorm.h"

/* What a layer will have in another group; nothing where it is there already. */
typedef struct sbn_layer_move {
    char *fresh;
    sbn_shape *shapes;
} sbn_layer_move;

/*
 * Everything that can fail, before anything changes; then the move itself. What is left of it is dropped.
 * Saved statistics follow when they are next used.
 */
int sbn__layer_move_prepare(sbn_layer_move *move, sbn_batchnorm *layer, sbn_group *group);
void sbn__layer_move_finish(sbn_layer_move *move, sbn_batchnorm *layer, sbn_group *group);
void sbn__layer_move_drop(sbn_layer_move *move);
