/*
 * One bucket: whole blocks of an exchange's tensors, one after the other, copied
 * from devices, added, and copied back. Nothing here meets other ranks.
 */
#ifndef SBN_SRC_PARALLEL_BUCKET_H
#define SBN_SRC_PARALLEL_BUCKET_H

#include "parallel/parallel.h"

int sbn__bucket_open(sbn_bucket *bucket, size_t replicas);
/* Waits for its copies. */
void sbn__bucket_close(sbn_bucket *bucket, size_t replicas);

/* Makes memory for what this exchange may need of an idle bucket. */
int sbn__bucket_reserve(sbn_bucket *bucket, const sbn_exchange *exchange);

/* Enqueues the copies to the host. */
int sbn__bucket_read(sbn_bucket *bucket);

/* Have all its copies ended? Never blocks; a failed one is an error. And: waits for them. */
int sbn__bucket_copied(const sbn_bucket *bucket, const sbn_data_parallel *parallel, int *done);
void sbn__bucket_wait(const sbn_bucket *bucket, size_t replicas);

/* Words in the two requests; those of levels come behind the ranks' statuses. */
size_t sbn__bucket_level_words(const sbn_bucket *bucket);
size_t sbn__bucket_sum_words(const sbn_bucket *bucket);

/* Fills this rank's words; `levels` are the bucket's behind the statuses. */
void sbn__bucket_fill_levels(const sbn_bucket *bucket, int64_t *levels);
void sbn__bucket_fill_sums(sbn_bucket *bucket, const int64_t *levels);

/* From the words of all ranks: enqueues the copies to the devices. */
int sbn__bucket_write(sbn_bucket *bucket, const int64_t *levels);

#endif
