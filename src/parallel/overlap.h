/* None of an exchange's tensors that are written may overlap another one, of any local replica. */
#ifndef SBN_PARALLEL_OVERLAP_H
#define SBN_PARALLEL_OVERLAP_H

#include "parallel/parallel.h"

/* For checked tensors: SBN_INVALID_ARGUMENT with a sentence, begun by `who`, that names two. */
int sbn__exchange_check_apart(const sbn_exchange *exchange, const char *who);

#endif
