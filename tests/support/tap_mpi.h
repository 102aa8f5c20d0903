/*
 * A test that runs as an MPI job: every rank makes the same checks in the same
 * order, rank 0 prints them, and a check passes if it does on all ranks.
 */
#pragma once

#include <mpi.h>

#include "support/tap.h"

/*
 * Initialises MPI with MPI_THREAD_FUNNELED or another thread level; the standard output of other ranks
 * than 0 goes nowhere.
 */
void tap_mpi_begin(int *argc, char ***argv);
void tap_mpi_begin_level(int *argc, char ***argv, int level);

/* Ends MPI and returns `result`. */
int mpi_job_end(int result);

/*
 * Wait without a core: for a request, and for all ranks to come. MPI's blocking calls spin, which a job
 * of more ranks than cores pays for.
 */
void mpi_job_wait(MPI_Request *request);
void mpi_job_meet(void);

int mpi_job_rank(void);
int mpi_job_size(void);
