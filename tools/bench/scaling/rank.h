/* A rank of a job over MPI, with a queue on PoCL's first device. */
#ifndef TOOLS_BENCH_SCALING_RANK_H
#define TOOLS_BENCH_SCALING_RANK_H

#include <syncbn-mpi.h>
#include <syncbn.h>

#include "program/opencl.h"

typedef struct rank {
    int rank, ranks;
    cl_context context;
    cl_command_queue queue;
    sbn_mpi *mpi;
    sbn_transport transport;
} rank;

/* Both with MPI's beginning and end. */
void rank_open(rank *r, int *argc, char ***argv);
void rank_close(rank *r);

/* Ends the job with a sentence if there is a status. */
void must(int status, const char *what);

/* A group of this rank's queue; with the rank's transport, another one, or none. */
sbn_group *rank_group(rank *r, const sbn_transport *transport);

#endif
