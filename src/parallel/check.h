/*
 * The checks of an exchange: of the group; of this rank's tensors; that all ranks begin the same exchange without an
 * error; and, with each bucket, that all go on. A header has a slot for each rank: it is small beside
 * the tensors, and a second reduction to name the ranks that differ is not needed.
 */
#pragma once

#include "parallel/parallel.h"

/* SBN_GROUP_FAILED if the group can no longer reach other ranks. */
int sbn__parallel_check_group(sbn_group *group);

/* Checks counts, root, buffers, overlaps and wait lists. */
int sbn__tensors_check(const sbn_exchange *exchange);

/* "averaging of 3 tensors, 1000 floats" */
void sbn__exchange_describe(int averages, uint64_t tensors, uint64_t floats, char *out,
                            size_t size);

size_t sbn__exchange_header_words(const sbn_data_parallel *parallel);
void sbn__exchange_header_fill(sbn_exchange *exchange);

/* Reads the sums: returns SBN_SUCCESS, or this rank's status with a sentence about all ranks. */
int sbn__exchange_header_read(const sbn_exchange *exchange);

/* Writes this rank's status into zeroed words, 16 bits for each rank; reads the statuses of all. */
size_t sbn__status_words(const sbn_data_parallel *parallel);
void sbn__status_fill(const sbn_data_parallel *parallel, int status, int64_t *words);
int sbn__status_read(const sbn_exchange *exchange, const int64_t *words);
