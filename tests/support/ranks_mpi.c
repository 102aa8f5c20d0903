/* A member in each rank of an MPI job. */
#include <stdlib.h>

#include <syncbn-mpi.h>

#include "support/ranks.h"
#include "support/mpi_job.h"

struct meeting_place {
    MPI_Comm comm;
    sbn_mpi *mpi;
};

void members_begin(int *argc, char ***argv)
{
    ranks_begin(argc, argv);
}

int members_end(int result)
{
    return ranks_end(result);
}

int members_most(void)
{
    return ranks_in_all();
}

int member_is_here(const member *m)
{
    return m->rank == ranks_own();
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
    must(place && count <= ranks_in_all() ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "a place for members");
    MPI_Comm_split(MPI_COMM_WORLD, ranks_own() < count ? 0 : MPI_UNDEFINED, ranks_own(),
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
    if (ranks_own() < all->count)
        work(&all->of[ranks_own()]);
}
