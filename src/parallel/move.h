/* How exchanges come about: src/parallel/parallel.h. Only waiting blocks. */
#ifndef SBN_SRC_PARALLEL_MOVE_H
#define SBN_SRC_PARALLEL_MOVE_H

#include "parallel.h"

/* Starts the header of an exchange that is under way. */
void sbn_exchange_start(sbn_exchange *exchange);

/* One look at everything. */
void sbn_parallel_move(sbn_parallel *parallel);

/* Until the exchange is settled; knows the timeout. */
void sbn_exchange_wait(sbn_exchange *exchange);

#endif
