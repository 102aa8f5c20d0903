/*
 * A test that runs as an MPI job: every rank makes the same checks in the same
 * order, rank 0 prints them, and a check passes if it does on all ranks.
 */
#ifndef TESTS_SUPPORT_MPI_JOB_H
#define TESTS_SUPPORT_MPI_JOB_H

#include <mpi.h>

#include "support/tap.h"

/*
 * Initialises MPI, with MPI_THREAD_FUNNELED or another thread level; ends it and returns `result`,
 * which is the same on all ranks.
 */
void ranks_begin(int *argc, char ***argv);
void ranks_begin_level(int *argc, char ***argv, int level);
int ranks_end(int result);

int ranks_own(void);
int ranks_in_all(void);

#endif
