/* A member in each rank of an MPI job. */
#include <stdlib.h>

#include <syncbn-mpi.h>

#include "support/ranks.h"
#include "support/tap_mpi.h"

struct meeting_place {
    MPI_Comm comm;
    sbn_mpi *mpi;
};

void members_begin(int *argc, char ***argv)
{
    tap_mpi_begin(argc, argv);
}

int members_end(int result)
{
    return mpi_job_end(result);
}

int members_most(void)
{
    return mpi_job_size();
}

int member_is_here(const member *m)
{
    return m->rank == mpi_job_rank();
}

void members_share(int rank, void *data, size_t size)
{
    MPI_Bcast(data, (int)size, MPI_BYTE, rank, MPI_COMM_WORLD);
}

/* The ranks beyond `count` have a place without a communicator. */
struct meeting_place *place_open(int count)
{
    if (count == 1)
        return NULL;
    struct meeting_place *place = calloc(1, sizeof *place);
    must(place && count <= mpi_job_size() ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "a place for members");
    MPI_Comm_split(MPI_COMM_WORLD, mpi_job_rank() < count ? 0 : MPI_UNDEFINED, mpi_job_rank(),
                   &place->comm);
    if (place->comm != MPI_COMM_NULL)
        must(sbn_mpi_create(place->comm, &place->mpi), "sbn_mpi_create");
    return place;
}

void place_transport(struct meeting_place *place, int rank, sbn_transport *transport)
{
    (void)rank;
    must(sbn_mpi_transport(place->mpi, transport), "sbn_mpi_transport");
}

void place_close(struct meeting_place *place)
{
    if (!place)
        return;
    must(sbn_mpi_destroy(place->mpi), "sbn_mpi_destroy");
    if (place->comm != MPI_COMM_NULL)
        MPI_Comm_free(&place->comm);
    free(place);
}

void members_run(members *all, int (*work)(member *))
{
    if (mpi_job_rank() < all->count)
        work(&all->of[mpi_job_rank()]);
}
