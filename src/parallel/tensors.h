/* Checks of the arguments of exchanges. */
#ifndef SBN_PARALLEL_TENSORS_H
#define SBN_PARALLEL_TENSORS_H

#include "parallel/parallel.h"

/* The tensors of a replica of this rank; the array must be checked. */
sbn_tensors sbn__tensors_at(const sbn_exchange *exchange, size_t replica);

/* Fails if no other exchange can begin. */
int sbn__parallel_check_state(sbn_data_parallel *parallel);

/* Checks that the handle is an exchange under way. */
int sbn__exchange_check_under_way(const sbn_exchange *exchange);

/* Checks counts, root, buffers, overlaps and wait lists. */
int sbn__exchange_check_tensors(const sbn_exchange *exchange);

#endif
