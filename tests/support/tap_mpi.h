/*
 * A test that runs as an MPI job: every rank makes the same checks in the same
 * order, rank 0 prints them, and a check passes if it does on all ranks.
 */
#ifndef TESTS_SUPPORT_TAP_MPI_H
#define TESTS_SUPPORT_TAP_MPI_H

#include "support/mpi_job.h"
#include "support/tap.h"

/* As mpi_job_begin, with MPI_THREAD_FUNNELED or another thread level; mpi_job_end ends it. */
void tap_mpi_begin(int *argc, char ***argv);
void tap_mpi_begin_level(int *argc, char ***argv, int level);

#endif
