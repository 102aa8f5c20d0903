/* The tensors of an exchange, as the caller's structs name them. */
#ifndef SBN_PARALLEL_TENSORS_H
#define SBN_PARALLEL_TENSORS_H

#include "parallel/parallel.h"

/* The tensors of a replica of this rank; the array must be checked. */
sbn_tensors sbn__tensors_at(const sbn_exchange *exchange, size_t replica);

/* Checks counts, root, buffers, overlaps and wait lists. */
int sbn__tensors_check(const sbn_exchange *exchange);

/* Sets *event to NULL until there is a command for it. The structs may be missing or invalid. */
void sbn__tensors_forget_events(const sbn_data_parallel *parallel, const sbn_tensors *replicas);

/*
 * Enqueues markers behind the copies, so that commands enqueued from now on run after them, and gives
 * the caller's events. After an error no event is left.
 */
int sbn__tensors_hand_over(const sbn_exchange *exchange);

#endif
