/* The table of coefficients of a layer's running statistics. */
#pragma once

#include "layer/batchnorm.h"

/*
 * Sets the layer's own running statistics by those of the first checked shard that has some, for a
 * pass that reads them. Blocks then.
 */
int sbn__running_given(sbn_batchnorm *layer, const sbn_shard *shards);

/* Creates the table of the running statistics if it has not been used before. */
int sbn__running_table(sbn_batchnorm *layer);

/*
 * Writes the running statistics to a replica's table unless they are there. The caller sets its copy's
 * `fresh` once a command that reads it is enqueued.
 */
int sbn__running_write(sbn_batchnorm *layer, sbn_replica *replica);
