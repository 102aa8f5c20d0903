/* What callers hand over, checked: a sentence each. */
#ifndef SBN_SRC_PARALLEL_CHECK_H
#define SBN_SRC_PARALLEL_CHECK_H

#include "parallel.h"

/* Replicas of this member. */
size_t sbn_exchange_replicas(const sbn_exchange *exchange);

/* May another exchange begin? */
int sbn_parallel_check_state(const sbn_parallel *parallel);

/* A handle that has not ended. */
int sbn_exchange_check_under_way(const sbn_exchange *exchange);

/* Counts, root, buffers and wait lists of what is asked for. */
int sbn_exchange_check_tensors(const sbn_exchange *exchange);

#endif
