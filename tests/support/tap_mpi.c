#include "support/tap_mpi.h"

#include <stdlib.h>

/* On rank 0 the ranks on which a check failed are listed behind it. */
static int judge(int condition)
{
    const int ranks = mpi_job_size();
    int *conditions = malloc(sizeof *conditions * (size_t)ranks), all = 1;
    if (!conditions)
        MPI_Abort(MPI_COMM_WORLD, 99);
    condition = condition != 0;
    MPI_Request request;
    MPI_Iallgather(&condition, 1, MPI_INT, conditions, 1, MPI_INT, MPI_COMM_WORLD, &request);
    mpi_job_wait(&request);
    for (int rank = 0; rank < ranks; ++rank) {
        all = all && conditions[rank];
        if (!conditions[rank])
            tap_note("rank %d of the job fails the next check", rank);
    }
    free(conditions);
    return all;
}

void tap_mpi_begin(int *argc, char ***argv)
{
    tap_mpi_begin_level(argc, argv, MPI_THREAD_FUNNELED);
}

void tap_mpi_begin_level(int *argc, char ***argv, int level)
{
    mpi_job_begin(argc, argv, level);
    tap_judge(judge);
}
