/*
 * Do all ranks begin the same exchange, and has none of them failed? A header
 * has a slot for each rank. Small beside what follows it, and so no second
 * reduction is needed to name those who differ.
 */
#ifndef SBN_SRC_PARALLEL_HEADER_H
#define SBN_SRC_PARALLEL_HEADER_H

#include "parallel/parallel.h"

/* "averaging of 3 tensors, 1000 floats" */
void sbn__exchange_describe(int averages, uint64_t tensors, uint64_t floats, char *out,
                            size_t size);

size_t sbn__exchange_header_words(const sbn_data_parallel *parallel);
void sbn__exchange_header_fill(sbn_exchange *exchange);

/* From the sums: SBN_SUCCESS, or this rank's status with the sentence about all of them. */
int sbn__exchange_header_read(const sbn_exchange *exchange);

/* A status of this rank into zeroed words, 16 bits for each; what all of them come to. */
size_t sbn__status_words(const sbn_data_parallel *parallel);
void sbn__status_fill(const sbn_data_parallel *parallel, int status, int64_t *words);
int sbn__status_read(const sbn_exchange *exchange, const int64_t *words);

#endif
