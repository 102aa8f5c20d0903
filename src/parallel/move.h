/* The stages of exchanges and buckets (src/parallel/parallel.h). Only sbn__exchange_wait blocks. */
#pragma once

#include "parallel/parallel.h"

/* Starts the header of an exchange that is under way. */
void sbn__exchange_start(sbn_exchange *exchange);

/* Moves all exchanges and buckets on as far as possible without blocking. */
void sbn__parallel_progress(sbn_data_parallel *parallel);

/*
 * Results could not be given: the exchanges under way end with the status, or one of their own, and later ones fail.
 * The last sentence is the reason.
 */
void sbn__parallel_unwritten(sbn_data_parallel *parallel, int status);

/* Blocks until the exchange is settled, at most until the communicator's deadline. */
void sbn__exchange_wait(sbn_exchange *exchange);
