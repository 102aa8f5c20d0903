/* What callers hand over, checked: a sentence each. */
#ifndef SBN_PARALLEL_TENSORS_H
#define SBN_PARALLEL_TENSORS_H

#include "parallel/parallel.h"

/* What the caller gave for a replica of this rank, once checked. */
sbn_tensors sbn__tensors_at(const sbn_exchange *exchange, size_t replica);

/* May another exchange begin? */
int sbn__parallel_check_state(sbn_data_parallel *parallel);

/* A handle that has not ended. */
int sbn__exchange_check_under_way(const sbn_exchange *exchange);

/* Counts, root, buffers, their overlaps and wait lists of what is asked for. */
int sbn__exchange_check_tensors(const sbn_exchange *exchange);

#endif
