/* The exchanges of an sbn_data_parallel; ended ones are kept for their memory. */
#ifndef SBN_PARALLEL_EXCHANGE_POOL_H
#define SBN_PARALLEL_EXCHANGE_POOL_H

#include "parallel/parallel.h"

/* Returns an ended exchange or a new one. */
int sbn__exchange_acquire(sbn_data_parallel *parallel, sbn_exchange **found);

/* Removes it from those under way, if it is one, and keeps its memory. */
void sbn__exchange_release(sbn_exchange *exchange);

/* Allocates a first exchange, so that it can report any error to the other ranks. */
int sbn__exchanges_prepare(sbn_data_parallel *parallel);

/* Frees those that have ended. */
void sbn__exchanges_free(sbn_data_parallel *parallel);

#endif
