/* A test as an MPI job: all ranks make the same checks in the same order; one passes that passes on all of them. */
#pragma once

#include <mpi.h>

#include "support/tap.h"

/* Initialises MPI with MPI_THREAD_FUNNELED or another level; standard output of other ranks than 0 goes nowhere. */
void tap_mpi_begin(int *argc, char ***argv);
void tap_mpi_begin_level(int *argc, char ***argv, int level);

/* Ends MPI and returns `result`. */
int mpi_job_end(int result);

/* Wait for a request, or for all ranks, without a core: MPI's own calls spin, and ranks may be more than cores. */
void mpi_job_wait(MPI_Request *request);
void mpi_job_meet(void);

int mpi_job_rank(void);
int mpi_job_size(void);
