/* What a backward pass leaves to the one with constant statistics. */
#ifndef SBN_SRC_BACKWARD_H
#define SBN_SRC_BACKWARD_H

#include "part.h"

/* The rows of part->gradients. */
enum { SBN_ROW_G, SBN_ROW_G_LOW, SBN_ROW_K, SBN_ROW_WEIGHT, SBN_ROW_BIAS, SBN_ROWS };

/* A row of a replica's host copy: free since the pass began. */
float *sbn_gradient_row(const sbn_part *part, size_t replica, int which);

/* dx of constant statistics: what it needs on the host, then a replica's dx. */
int sbn_frozen_fill(sbn_part *part);
int sbn_frozen_apply(sbn_part *part, sbn_replica *replica, cl_event *event);

#endif
