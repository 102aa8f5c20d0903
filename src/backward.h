/* What a backward pass has in common with the one of constant statistics. */
#ifndef SBN_SRC_BACKWARD_H
#define SBN_SRC_BACKWARD_H

#include "part.h"
#include "share.h"

/* Of a share, x apart. */
#define SBN_BACKWARD_NEEDS (SBN_NEEDS_DY | SBN_MAY_DX | SBN_NEEDS_WEIGHT | SBN_MAY_GRADIENTS)

/* A row of a replica's host copy: free since the pass began. */
float *sbn_gradient_row(const sbn_part *part, size_t replica, int which);

/* Of the part's kind: sums of dy and dy (x - mean), and the gradients of weight and bias. */
int sbn_backward_reduce(sbn_part *part, sbn_piece *piece, sbn_replica *replica, int window,
                        const sbn_slices *slices, const sbn_wait *wait, cl_event *event);
int sbn_backward_take(sbn_part *part, const sbn_piece *piece, const sbn_words *words);
void sbn_backward_fill(sbn_part *part, const sbn_piece *piece);
int sbn_backward_store(sbn_part *part, sbn_replica *replica);

/* Enqueues the rows of a piece to the device, if it needs them; *applies: is there dx to compute? */
int sbn_backward_write(sbn_part *part, const sbn_piece *piece, sbn_replica *replica, int *applies);

/* The kind of a checked call whose saved statistics are constants. */
const sbn_part_kind *sbn_frozen_kind(const sbn_branch *branch);

#endif
