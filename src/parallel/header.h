/*
 * Do all members begin the same exchange, and has none of them failed? A header
 * has a slot for each member. Small beside what follows it, and so no second
 * reduction is needed to name those who differ.
 */
#ifndef SBN_SRC_PARALLEL_HEADER_H
#define SBN_SRC_PARALLEL_HEADER_H

#include "parallel.h"

/* "averaging of 3 tensors, 1000 floats" */
void sbn_exchange_describe(int averages, uint64_t tensors, uint64_t floats, char *out, size_t size);

size_t sbn_exchange_header_words(const sbn_parallel *parallel);
void sbn_exchange_header_fill(const sbn_exchange *exchange, int64_t *words);

/* From the sums: SBN_SUCCESS, or this member's status with the sentence about all of them. */
int sbn_exchange_header_read(const sbn_exchange *exchange, const int64_t *words);

/* A status of this member into zeroed words, 16 bits for each; what all of them come to. */
void sbn_status_fill(const sbn_parallel *parallel, int status, int64_t *words);
int sbn_status_read(const sbn_exchange *exchange, const int64_t *words);

#endif
