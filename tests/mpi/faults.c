/*
 * Faults in an MPI job: `mpi_faults FAULT [local]` on 4 ranks, one replica each. Rank 1 does not join,
 * or joins when the others have timed out, or has begun and does not go on. After `local` a group
 * whose rank is late goes on with local statistics. Every rank prints lines
 *
 *   rank R: WHEN: STATUS: sentence
 *
 * of its calls. If all ranks have joined all reductions, the job ends by MPI_Finalize, else by
 * MPI_Abort(…, 3). tests/mpi/faults.sh checks lines and exit status.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <syncbn-mpi.h>

#include "support/fixture.h"
#include "support/tap_mpi.h"
#include "support/stalls.h"

enum { CHANNELS = 3, PLANE = 33, SAMPLES = 2, TIMEOUT = 5 };

/* When rank 1 joins, and until when the others stay, from the start, as multiples of the timeout. */
#define LATE 1.5
#define LONGER 2.2

static int rank;
static int variant; /* of the fault */
static fixture device;
static sbn_mpi *mpi;
static life first;
static slice own;

/* As a program with other work, in which MPI progresses. */
static void work_until(double end)
{
    int there;
    while (MPI_Wtime() < end) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        pause_for(0.01);
    }
}

/* A line, and the status again. */
static int says(const char *when, int status)
{
    /* At once, or the ranks' lines mix: PoCL 6 makes standard output unbuffered. */
    char line[2048];
    snprintf(line, sizeof line, "rank %d: %s%s: %s\n", rank, when, sbn_status_name(status),
             sbn_last_error());
    fputs(line, stdout);
    fflush(stdout);
    return status;
}

static int forward(void)
{
    return sbn_forward(first.layer, &own.shard, first.saved, 0, NULL);
}

static void goes_on(void)
{
    sbn_result result = SBN_RESULT_INIT;
    const int status = sbn_backward(first.layer, &own.shard, first.saved, 0, &result);
    if (!says("afterwards: ", status) && !result.synchronised)
        printf("rank %d: local statistics\n", rank);
}

/* --- rank 1 does not come ---------------------------------------------------------------- */

/* It sleeps, or gets a signal. */
static void absent(void)
{
    if (rank == 1 && variant)
        raise(variant);
    if (rank == 1)
        pause_for(120);
    says("", forward());
    goes_on();
}

/* Rank 2 gives up long after the others, who had come: it must not name them. */
static void staggered(void)
{
    if (rank == 2)
        pause_for(TIMEOUT / 2.0);
    absent();
}

static void *abort_group(void *of)
{
    pause_for(1);
    return sbn_group_abort(of) ? of : NULL;
}

/* Rank 0 is aborted long before its timeout, when it has not asked anybody yet. */
static void aborted(void)
{
    pthread_t watchdog;
    if (rank == 0)
        must(pthread_create(&watchdog, NULL, abort_group, first.group), "pthread_create");
    absent();
    if (rank == 0)
        must(pthread_join(watchdog, NULL), "pthread_join");
}

/* --- rank 1 is late ------------------------------------------------------------------------ */

/* It has not begun. */
static void late(void)
{
    const double start = MPI_Wtime();
    if (rank == 1)
        pause_for(LATE * TIMEOUT);
    says("", forward());
    /* The library asks who is missing before the timeout, not after it. */
    const double waited = MPI_Wtime() - start;
    const double most = rank == 1 ? (LATE + 0.5) * TIMEOUT : TIMEOUT + 0.8;
    says("in time: ", waited < most ? SBN_SUCCESS : SBN_TIMEOUT);
    goes_on();
}

/* It has begun, and does not call again: some may have its header, and some not. */
static void between(void)
{
    sbn_pass *pass;
    must(sbn_forward_begin(first.layer, &own.shard, first.saved, 0, &pass), "sbn_forward_begin");
    if (rank == 1)
        pause_for(LATE * TIMEOUT);
    says("", sbn_pass_end(pass, NULL));
    goes_on();
}

/* It has begun with them, all have agreed, but its device keeps the words. */
static void words(void)
{
    const double start = MPI_Wtime();
    sbn_pass *pass;
    sbn_shard shard = own.shard;
    cl_event held = fixture_gate(&device);
    shard.num_wait = rank == 1;
    shard.wait_list = &held;
    must(sbn_forward_begin(first.layer, &shard, first.saved, 0, &pass), "sbn_forward_begin");
    while (rank == 1 && MPI_Wtime() < start + TIMEOUT / 2.0) {
        must(sbn_pass_progress(pass, NULL), "sbn_pass_progress");
        pause_for(0.01);
    }
    if (rank == 1)
        pause_for((LATE - 0.5) * TIMEOUT);
    must(clSetUserEventStatus(held, CL_COMPLETE), "clSetUserEventStatus");
    must(clReleaseEvent(held), "clReleaseEvent");
    says("", sbn_pass_end(pass, NULL));
    goes_on();
}

/* An averaging of gradients, which rank 1 may have begun, dies alone: batch norm goes on, rank 1 too. */
static void average(void)
{
    const int begun = variant;
    static const size_t counts[] = {CHANNELS, CHANNELS};
    const sbn_buffer buffers[] = {own.shard.weight_grad, own.shard.bias_grad};
    const sbn_tensors tensors = {.size = sizeof(sbn_tensors), .buffers = buffers};
    sbn_data_parallel *parallel;
    sbn_exchange *exchange;
    must(sbn_data_parallel_create(first.group, NULL, &parallel), "sbn_data_parallel_create");
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (rank == 1 && !begun)
        pause_for(LATE * TIMEOUT);
    must(sbn_average_gradients_begin(parallel, counts, 2, &tensors, &exchange), "begin");
    if (rank == 1 && begun)
        pause_for(LATE * TIMEOUT);
    says("", sbn_exchange_end(exchange));
    says("again: ", sbn_average_gradients(parallel, counts, 2, &tensors));
    /* Rank 1 has a timeout of its own before it. */
    if (rank != 1)
        work_until(start + (LATE + 1.2) * TIMEOUT);
    goes_on();
    sbn_data_parallel_destroy(parallel);
}

static const struct fault {
    const char *name;
    void (*provoke)(void);
    int comes; /* rank 1, in the end */
    int variant;
} faults[] = {
    /* Rank 1 does not come. */
    {"sleep", absent, 0, 0},
    {"staggered", staggered, 0, 0},
    {"aborted", aborted, 0, 0},
    {"stop", absent, 0, SIGSTOP},
    {"kill", absent, 0, SIGKILL},
    /* It does. */
    {"late", late, 1, 0},
    {"between", between, 1, 0},
    {"words", words, 1, 0},
    {"average_late", average, 1, 0},
    {"average_between", average, 1, 1},
};

static void open_group(sbn_timeout_action action)
{
    sbn_transport transport = SBN_TRANSPORT_INIT;
    cl_command_queue queue = fixture_queue(&device, 0);
    must(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(mpi, &transport), "sbn_mpi_transport");
    first = LIVE_WITH(GROUP_WITH(&queue, .transport = &transport, .timeout = TIMEOUT,
                                 .on_timeout = action),
                      .channels = CHANNELS, .name = "first");
    slice_open(&own, &device, queue, (size_t)rank * SAMPLES, SAMPLES, CHANNELS, PLANE, 9);
    /* All together until here, whatever their start took. */
    must(forward(), "the first pass");
    mpi_job_meet();
    MPI_Barrier(MPI_COMM_WORLD);
    stalls_begin();
}

/* The transport's status. Tells the script whether the machine has stopped this process. */
static int close_group(void)
{
    if (stalls_longest() >= TIMEOUT / 10.0)
        fprintf(stderr, "rank %d: stopped for %.2g s\n", rank, stalls_longest());
    stalls_end();
    slice_close(&own);
    fixture_die(&first);
    clReleaseCommandQueue(own.queue);
    fixture_close(&device);
    return says("the transport: ", sbn_mpi_destroy(mpi));
}

int main(int argc, char **argv)
{
    const struct fault *f = faults, *end = faults + sizeof faults / sizeof *faults;
    int level;
    while (f < end && strcmp(f->name, argc > 1 ? argv[1] : "") != 0)
        ++f;
    if (f == end || fixture_open(&device))
        return 99;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    open_group(argc > 2 && !strcmp(argv[2], "local") ? SBN_TIMEOUT_LOCAL : SBN_TIMEOUT_FAIL);
    const double start = MPI_Wtime();
    variant = f->variant;
    f->provoke();
    if (f->comes && rank != 1)
        work_until(start + LONGER * TIMEOUT);
    int clean = close_group() == SBN_SUCCESS;
    if (f->comes)
        MPI_Allreduce(MPI_IN_PLACE, &clean, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (f->comes && clean) {
        MPI_Finalize();
        return 0;
    }
    /* The abort ends the others, too: they have lines to print. */
    pause_for(f->comes ? 1 : TIMEOUT / 2.0 + 5);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return 0;
}
