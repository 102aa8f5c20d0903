/* The exchanges of an sbn_data_parallel; ended ones are kept for their memory. */
#pragma once

#include "parallel/parallel.h"

/* Allocates an exchange. One is kept, to report any error to the other ranks. */
int sbn__exchanges_prepare(sbn_data_parallel *parallel);

/* Frees those that have ended. */
void sbn__exchanges_free(sbn_data_parallel *parallel);
