/*
 * How an exchange's tensors are cut into buckets, a bucket into pieces of tensors, and pieces into
 * blocks, which have a range each. All ranks cut alike: they agree on the tensors' sizes.
 */
#ifndef SBN_PARALLEL_PIECE_H
#define SBN_PARALLEL_PIECE_H

#include "parallel/parallel.h"

/* A part of one tensor, and where it lies in the bucket. */
typedef struct sbn_piece {
    size_t tensor, first, count, at;
} sbn_piece;

/* A block of the bucket: never of two tensors. */
typedef struct sbn_block {
    size_t at, count;
    const int64_t *range;
} sbn_block;

/* Cuts the exchange's next bucket. */
void sbn__bucket_cut(sbn_bucket *bucket, sbn_exchange *exchange);

/* The piece that follows, from a zeroed one on; 0 after the last. */
int sbn__next_piece(const sbn_bucket *bucket, sbn_piece *piece);

/* The block that follows, from a zeroed piece and block on; 0 after the last. */
int sbn__next_block(const sbn_bucket *bucket, const int64_t *levels, sbn_piece *piece,
                    sbn_block *block);

#endif
