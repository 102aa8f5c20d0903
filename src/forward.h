/* Step 3 of a forward pass, which evaluation and recomputation are alone. */
#ifndef SBN_SRC_FORWARD_H
#define SBN_SRC_FORWARD_H

#include "batchnorm.h"

/* Enqueues y from x, of a geometry that is not empty, and a table of statistics. */
int sbn_forward_launch(sbn_replica *replica, const sbn_batchnorm *layer, const sbn_share *share,
                       const sbn_geometry *geometry, sbn_table *statistics, cl_event ready,
                       cl_event *applied);

/*
 * Brings a replica's table of the running statistics up to date; the caller sets running_fresh
 * when a command that reads it is enqueued.
 */
int sbn_running_write(sbn_batchnorm *layer, sbn_replica *replica);

/* Evaluation by the batch's own statistics. */
int sbn_forward_evaluation(sbn_batchnorm *layer, const sbn_share *shares);

#endif
