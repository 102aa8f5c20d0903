#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>

static int own, in_all;

int ranks_own(void)
{
    return own;
}

int ranks_in_all(void)
{
    return in_all;
}

/* On rank 0 the ranks on which a check failed are listed behind it. */
static int judge(int condition)
{
    int *conditions = malloc(sizeof *conditions * (size_t)in_all), all = 1;
    if (!conditions)
        MPI_Abort(MPI_COMM_WORLD, 99);
    condition = condition != 0;
    MPI_Allgather(&condition, 1, MPI_INT, conditions, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < in_all; ++rank) {
        all = all && conditions[rank];
        if (!conditions[rank])
            tap_note("rank %d of the job fails the next check", rank);
    }
    free(conditions);
    return all;
}

void ranks_begin(int *argc, char ***argv)
{
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &in_all);
    tap_judge(judge);
    if (own > 0 && !freopen("/dev/null", "w", stdout))
        MPI_Abort(MPI_COMM_WORLD, 99);
}

int ranks_end(int result)
{
    MPI_Finalize();
    return result;
}
