/* A rank in each process of an MPI job. */
#include <stdlib.h>

#include <syncbn-mpi.h>

#include "support/ranks.h"
#include "support/tap_mpi.h"

typedef struct transports {
    MPI_Comm comm;
    sbn_mpi *mpi;
} transports;

int rank_is_here(const test_rank *m)
{
    return m->rank == mpi_job_rank();
}

void ranks_broadcast(int rank, void *data, size_t size)
{
    MPI_Request request;
    MPI_Ibcast(data, (int)size, MPI_BYTE, rank, MPI_COMM_WORLD, &request);
    mpi_job_wait(&request);
}

/* The ranks beyond `count` have a place without a communicator. */
void *transports_open(int count)
{
    if (count == 1)
        return NULL;
    transports *made = calloc(1, sizeof *made);
    must(made && count <= mpi_job_size() ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "a place for ranks");
    mpi_job_meet();
    MPI_Comm_split(MPI_COMM_WORLD, mpi_job_rank() < count ? 0 : MPI_UNDEFINED, mpi_job_rank(),
                   &made->comm);
    if (made->comm != MPI_COMM_NULL)
        must(sbn_mpi_create(made->comm, &made->mpi), "sbn_mpi_create");
    return made;
}

void transports_get(void *of, int rank, sbn_transport *transport)
{
    (void)rank;
    must(sbn_mpi_transport(((transports *)of)->mpi, transport), "sbn_mpi_transport");
}

void transports_close(void *of)
{
    transports *t = of;
    if (!t)
        return;
    mpi_job_meet();
    must(sbn_mpi_destroy(t->mpi), "sbn_mpi_destroy");
    if (t->comm != MPI_COMM_NULL)
        MPI_Comm_free(&t->comm);
    free(t);
}

void ranks_run(test_ranks *all, int (*work)(test_rank *))
{
    if (mpi_job_rank() < all->count)
        work(&all->of[mpi_job_rank()]);
}
