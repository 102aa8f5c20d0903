/* How exchanges come about: src/parallel/parallel.h. Only waiting blocks. */
#ifndef SBN_SRC_PARALLEL_MOVE_H
#define SBN_SRC_PARALLEL_MOVE_H

#include "parallel/parallel.h"

/* Starts the header of an exchange that is under way. */
void sbn__exchange_start(sbn_exchange *exchange);

/* One look at everything. */
void sbn__parallel_progress(sbn_data_parallel *parallel);

/* Until the exchange is settled, or the other ranks' time is over. */
void sbn__exchange_wait(sbn_exchange *exchange);

#endif
