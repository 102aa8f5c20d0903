/* The beginning and the end of a process of an MPI job, of which rank 0 alone prints. */
#ifndef TESTS_SUPPORT_MPI_JOB_H
#define TESTS_SUPPORT_MPI_JOB_H

#include <mpi.h>

/* Initialises MPI with a thread level; the standard output of other ranks goes nowhere. */
void mpi_job_begin(int *argc, char ***argv, int level);

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

#endif
