#include "support/tap_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int own, in_all;

int mpi_job_rank(void)
{
    return own;
}

int mpi_job_size(void)
{
    return in_all;
}

/* By MPI's second names: tests stand between the library and the first ones. */
void mpi_job_wait(MPI_Request *request)
{
    struct timespec sleep = {0, 10000};
    for (int done = 0; PMPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done;) {
        nanosleep(&sleep, NULL);
        sleep.tv_nsec = sleep.tv_nsec < 1000000 ? sleep.tv_nsec * 2 : 1000000;
    }
}

void mpi_job_meet(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    mpi_job_wait(&request);
}

/* On rank 0 the ranks on which a check failed are listed behind it. */
static int judge(int condition)
{
    int *conditions = malloc(sizeof *conditions * (size_t)in_all), all = 1;
    if (!conditions)
        MPI_Abort(MPI_COMM_WORLD, 99);
    condition = condition != 0;
    MPI_Request request;
    MPI_Iallgather(&condition, 1, MPI_INT, conditions, 1, MPI_INT, MPI_COMM_WORLD, &request);
    mpi_job_wait(&request);
    for (int rank = 0; rank < in_all; ++rank) {
        all = all && conditions[rank];
        if (!conditions[rank])
            tap_note("rank %d of the job fails the next check", rank);
    }
    free(conditions);
    return all;
}

void tap_mpi_begin_level(int *argc, char ***argv, int level)
{
    int provided;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &in_all);
    if (own > 0 && !freopen("/dev/null", "w", stdout))
        MPI_Abort(MPI_COMM_WORLD, 99);
    tap_judge(judge);
}

void tap_mpi_begin(int *argc, char ***argv)
{
    tap_mpi_begin_level(argc, argv, MPI_THREAD_FUNNELED);
}

/*
 * MPICH 4.0.2 over TCP (UCX) may hang in MPI_Finalize: a rank still needs an answer of another one that already waits
 * in the process manager. So all ranks stop together, after a last exchange between all of them.
 */
static void stop_together(void)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
    int *numbers = calloc((size_t)in_all * 2, sizeof *numbers);
    if (!numbers)
        MPI_Abort(MPI_COMM_WORLD, 99);
    mpi_job_meet();
    MPI_Alltoall(numbers, 1, MPI_INT, numbers + in_all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    free(numbers);
    nanosleep(&(struct timespec){0, 300000000}, NULL);
#endif
}

int mpi_job_end(int result)
{
    stop_together();
    MPI_Finalize();
    return result;
}
