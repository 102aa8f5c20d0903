/*
 * One bucket: complete blocks of an exchange's tensors, copied from devices, added, and copied back. Blocks have a
 * range each. All ranks cut alike: they agree on the tensors' sizes. No requests to other ranks here.
 */
#pragma once

#include "parallel/parallel.h"

int sbn__bucket_open(sbn_bucket *bucket, size_t replicas);
/* Waits for its copies. */
void sbn__bucket_close(sbn_bucket *bucket, size_t replicas);

/* Cuts the exchange's next bucket. */
void sbn__bucket_cut(sbn_bucket *bucket, sbn_exchange *exchange);

/* Allocates what this exchange may need of an idle bucket. */
int sbn__bucket_reserve(sbn_bucket *bucket, const sbn_exchange *exchange);

/* Enqueues the copies to the host. */
int sbn__bucket_read(sbn_bucket *bucket);

/* Sets *done to 0 unless all its copies have ended; a failed one has, and is an error. Blocks where asking fails. */
int sbn__bucket_copied(const sbn_bucket *bucket, const sbn_data_parallel *parallel, int *done);

/* Waits for each replica's last copy, if there is one. A failed copy has ended, too. */
void sbn__copies_wait(const cl_event *copies, size_t replicas);

/* Words of the two requests; the words of levels follow the ranks' statuses. */
size_t sbn__bucket_level_words(const sbn_bucket *bucket);
size_t sbn__bucket_sum_words(const sbn_bucket *bucket);

/* Fills this rank's words. `levels` points behind the statuses. */
void sbn__bucket_fill_levels(const sbn_bucket *bucket, int64_t *levels);
void sbn__bucket_fill_sums(sbn_bucket *bucket, const int64_t *levels);

/* Enqueues the copies to the devices, from the sums of all ranks. */
int sbn__bucket_write(sbn_bucket *bucket, const int64_t *levels);
