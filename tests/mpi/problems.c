/*
 * Problems over the ranks of a job: each has some of the replicas, or none. The results of all ranks
 * together must have the bits of the same problem in one process, on one replica fewer or more, and lie
 * within the tolerances of `syncbn check`. The argument is a file of problems.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <syncbn-mpi.h>

#include "check/compare.h"
#include "support/main.h"
#include "support/tap_mpi.h"
#include "support/trial.h"

/* The transports that the groups have taken: MPICH has no more communicators. */
enum { MOST = 2048 };
static sbn_mpi *taken[MOST];
static size_t count;

static int take_transport(void *context, sbn_transport *transport)
{
    (void)context;
    const int status = count < MOST ? sbn_mpi_create(MPI_COMM_WORLD, &taken[count])
                                    : SBN_OUT_OF_MEMORY;
    return status ? status : sbn_mpi_transport(taken[count++], transport);
}

static int join_ranks(void *context, float *data, size_t values)
{
    (void)context;
    MPI_Request request;
    const int status = MPI_Iallreduce(MPI_IN_PLACE, data, (int)values, MPI_UINT32_T, MPI_BOR,
                                      MPI_COMM_WORLD, &request);
    if (!status)
        mpi_job_wait(&request);
    return status;
}

/* On the first PoCL device, for all ranks alike. */
static queues *open_queues(const runner_ranks *ranks)
{
    const runner_config config = {.devices = &device.device, .num_devices = 1, .ranks = ranks};
    char error[RUNNER_ERROR];
    queues *made;
    must(queues_open(&config, &made, error), error);
    return made;
}

/* 1 if all outputs have the same bits; else says which has not. */
static int same_bits(const outputs *a, const outputs *b)
{
    for (int id = 0; id < OUTPUTS; ++id)
        if (a->of[id].digest != b->of[id].digest) {
            tap_note("%s: %llx, expected %llx", output_names[id],
                     (unsigned long long)a->of[id].digest, (unsigned long long)b->of[id].digest);
            return 0;
        }
    /* Where devices combine, the host does not know whether a channel needed the wide format. */
    const int wide = a->wide < 0 || b->wide < 0 || a->wide == b->wide;
    return wide && a->count == b->count && a->batches == b->batches;
}

/* Rank 0 has everything; the others have taken part. */
static void judge(const trial *spread, const trial *alone, const char *line)
{
    comparison found;
    const int others = mpi_job_rank() > 0;
    tap_ok(others || same_bits(&spread->out, &alone->out), "%s: the bits of one process", line);
    /* Tolerances know local gradients of each replica, so this is the line as it stands. */
    tap_ok(others ||
               (!compare(&spread->p, &spread->g, &spread->in, &spread->out, &found) && found.ok),
           "%s: within the tolerances", line);
}

static void run_problem(const char *line, queues *job, queues *single)
{
    char error[RUNNER_ERROR] = "", here[RUNNER_ERROR] = "";
    trial spread, alone;
    int expected = SBN_SUCCESS;
    trial_make(&spread, line, queues_replicas(job));
    trial_make(&alone, line, queues_replicas(job));
    if (mpi_job_rank() == 0)
        expected = trial_run(&alone, single, here);
    mpi_job_meet();
    MPI_Bcast(&expected, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const int status = trial_run(&spread, job, error);
    if (status && status != expected)
        tap_note("%s", error);
    if (status || expected)
        tap_ok(status == expected && status == SBN_TOO_FEW_VALUES, "%s: %s, %s in one process",
               line, sbn_strerror(status), sbn_strerror(expected));
    else
        judge(&spread, &alone, line);
    trial_free(&spread);
    trial_free(&alone);
}

static void run_file(const char *name, queues *job, queues *single)
{
    char line[PROBLEM_LINE];
    FILE *file = fopen(name, "r");
    must(!file, name);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        run_problem(line, job, single);
    }
    fclose(file);
}

void checks(void)
{
    alarm(300);
    const runner_ranks ranks = {mpi_job_rank(), mpi_job_size(), NULL, take_transport, join_ranks};
    queues *job = open_queues(&ranks), *single = open_queues(NULL);
    run_file(main_arguments[1], job, single);
    queues_close(job);
    queues_close(single);
    for (size_t i = 0; i < count; ++i)
        tap_ok(sbn_mpi_destroy(taken[i]) == SBN_SUCCESS, "transport %zu ends", i);
}
