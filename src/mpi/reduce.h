/* Non-blocking reductions on duplicates of the caller's communicator, one for each tag. */
#pragma once

#include "mpi/mpi.h"

/* The table's functions. */
int sbn__mpi_start(void *context, int tag, int64_t *words, size_t count, void **request);
int sbn__mpi_test(void *context, void *request, int *done);
int sbn__mpi_missing(void *context, void *request, int *ranks);

/* Tests all reductions in flight: how many are left, or -1 if MPI fails. */
int sbn__mpi_test_all(sbn_mpi *mpi);

/* Receives what other ranks have sent; `answers`: and answers their questions. */
void sbn__mpi_hear(sbn_mpi *mpi, int answers);
