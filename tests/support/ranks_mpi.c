/* A rank in each process of an MPI job. */
#include <stdlib.h>

#include <syncbn-mpi.h>

#include "support/ranks.h"
#include "support/tap_mpi.h"

struct transports {
    MPI_Comm comm;
    sbn_mpi *mpi;
};

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
struct transports *transports_open(int count)
{
    if (count == 1)
        return NULL;
    struct transports *transports = calloc(1, sizeof *transports);
    must(transports && count <= mpi_job_size() ? SBN_SUCCESS : SBN_OUT_OF_MEMORY,
         "a place for ranks");
    mpi_job_meet();
    MPI_Comm_split(MPI_COMM_WORLD, mpi_job_rank() < count ? 0 : MPI_UNDEFINED, mpi_job_rank(),
                   &transports->comm);
    if (transports->comm != MPI_COMM_NULL)
        must(sbn_mpi_create(transports->comm, &transports->mpi), "sbn_mpi_create");
    return transports;
}

void transports_get(struct transports *transports, int rank, sbn_transport *transport)
{
    (void)rank;
    must(sbn_mpi_transport(transports->mpi, transport), "sbn_mpi_transport");
}

void transports_close(struct transports *transports)
{
    if (!transports)
        return;
    mpi_job_meet();
    must(sbn_mpi_destroy(transports->mpi), "sbn_mpi_destroy");
    if (transports->comm != MPI_COMM_NULL)
        MPI_Comm_free(&transports->comm);
    free(transports);
}

void ranks_run(test_ranks *all, int (*work)(test_rank *))
{
    if (mpi_job_rank() < all->count)
        work(&all->of[mpi_job_rank()]);
}
