/*
 * The ranks of an MPI job, each with some of the replicas. Only this part of the demo uses MPI:
 * built without MPI, or started without mpiexec, there is one rank, and these functions do nothing.
 */
#pragma once

#include <stddef.h>

#include <syncbn.h>

/* First and last in main. Only rank 0 prints. A failure (check.h) ends all ranks. */
void ranks_begin(int *argc, char ***argv);
void ranks_end(void);

/* The command line is wrong: exit status 2. All ranks come here; rank 0 says why. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

size_t ranks_own(void);
size_t ranks_in_all(void);

/* Where rank `rank`'s part of `count` things begins, and the part before it ends. */
size_t ranks_begin_of(size_t count, size_t rank);

/* Of the devices of a host, those that this rank takes: *first and those behind it. */
size_t ranks_devices(size_t count, size_t *first);

/*
 * A transport between the first `ranks` ranks, for one group, or NULL if that
 * is one rank alone; called by all of them. ranks_end ends it.
 */
const sbn_transport *ranks_transport(size_t ranks);

/* Sums over the ranks, the same bits on all. */
void ranks_add(double *values, size_t count);
void ranks_add_floats(float *values, size_t count);

/* Rank 0's values come to all; and the values of which each rank holds some, 0 elsewhere. */
void ranks_broadcast(float *values, size_t count);
void ranks_join(float *values, size_t count);
