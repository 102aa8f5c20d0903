/*
 * A rank that joins too late, one fault per run: `mpi_late FAULT [local]` on 4 ranks. The others
 * have timed out when rank 1 joins. It is told so, or succeeds once and then times out itself.
 * Every rank prints the results of its calls. If all ranks have joined all reductions, the job ends
 * by MPI_Finalize, else by MPI_Abort(…, 3). tests/mpi/faults.sh checks this.
 */
#include <string.h>

#include "mpi/training.h"

/*
 * When rank 1 joins, and until when the others stay, from the start, as multiples of the timeout.
 */
#define LATE 1.5
#define LONGER 2.2

/* As a program with other work, in which MPI progresses. */
static void work_until(double end)
{
    int there;
    while (MPI_Wtime() < end) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        pause_for(0.01);
    }
}

/* Rank 1 has not begun. */
static void late(training *t)
{
    const double start = MPI_Wtime();
    if (t->rank == 1)
        pause_for(LATE * t->timeout);
    training_says(t, "", training_first(t));
    /* The library asks who is missing before the timeout, not after it. */
    const double waited = MPI_Wtime() - start;
    const double most = t->rank == 1 ? (LATE + 0.5) * t->timeout : t->timeout + 0.8;
    training_says(t, "in time: ", waited < most ? SBN_SUCCESS : SBN_TIMEOUT);
    training_goes_on(t);
}

/* Rank 1 has begun, and does not call again: some may have its header, and some not. */
static void between(training *t)
{
    sbn_pass *pass;
    must(sbn_forward_begin(t->first, &t->slice.shard, t->first_saved, 0, &pass),
         "sbn_forward_begin");
    if (t->rank == 1)
        pause_for(LATE * t->timeout);
    training_says(t, "", sbn_pass_end(pass, NULL));
    training_goes_on(t);
}

/* Rank 1 has begun with them, all have agreed, but its device keeps the words. */
static void words(training *t)
{
    const double start = MPI_Wtime();
    sbn_pass *pass;
    sbn_shard shard = t->slice.shard;
    cl_event held = fixture_gate(&t->device);
    shard.num_wait = t->rank == 1;
    shard.wait_list = &held;
    must(sbn_forward_begin(t->first, &shard, t->first_saved, 0, &pass), "sbn_forward_begin");
    while (t->rank == 1 && MPI_Wtime() < start + t->timeout / 2) {
        must(sbn_pass_progress(pass, NULL), "sbn_pass_progress");
        pause_for(0.01);
    }
    if (t->rank == 1)
        pause_for((LATE - 0.5) * t->timeout);
    must(clSetUserEventStatus(held, CL_COMPLETE), "clSetUserEventStatus");
    must(clReleaseEvent(held), "clReleaseEvent");
    training_says(t, "", sbn_pass_end(pass, NULL));
    training_goes_on(t);
}

/* An averaging of gradients dies alone: batch norm goes on, rank 1 too. */
static void average(training *t, int begun)
{
    static const size_t counts[] = {CHANNELS, CHANNELS};
    const sbn_buffer buffers[] = {t->slice.shard.weight_grad, t->slice.shard.bias_grad};
    const sbn_tensors tensors = {.size = sizeof(sbn_tensors), .buffers = buffers};
    sbn_data_parallel *parallel;
    sbn_exchange *exchange;
    must(sbn_data_parallel_create(t->group, NULL, &parallel), "sbn_data_parallel_create");
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (t->rank == 1 && !begun)
        pause_for(LATE * t->timeout);
    must(sbn_average_gradients_begin(parallel, counts, 2, &tensors, &exchange),
         "sbn_average_gradients_begin");
    if (t->rank == 1 && begun)
        pause_for(LATE * t->timeout);
    training_says(t, "", sbn_exchange_end(exchange));
    training_says(t, "again: ", sbn_average_gradients(parallel, counts, 2, &tensors));
    /* Rank 1 has a timeout of its own before it. */
    if (t->rank != 1)
        work_until(start + (LATE + 1.2) * t->timeout);
    training_goes_on(t);
    sbn_data_parallel_destroy(parallel);
}

static void average_late(training *t)
{
    average(t, 0);
}

static void average_between(training *t)
{
    average(t, 1);
}

static const struct fault {
    const char *name;
    void (*provoke)(training *);
} faults[] = {
    {"late", late},
    {"between", between},
    {"words", words},
    {"average_late", average_late},
    {"average_between", average_between},
};

int main(int argc, char **argv)
{
    const struct fault *f = faults, *end = faults + sizeof faults / sizeof *faults;
    const int local = argc > 2 && !strcmp(argv[2], "local");
    training t;
    while (f < end && strcmp(f->name, argc > 1 ? argv[1] : "") != 0)
        ++f;
    if (f == end || training_open(&t, 5, local ? SBN_TIMEOUT_LOCAL : SBN_TIMEOUT_FAIL))
        return 99;
    const double start = MPI_Wtime();
    t.fault = f->name;
    f->provoke(&t);
    if (t.rank != 1)
        work_until(start + LONGER * t.timeout);
    int clean = training_close(&t) == SBN_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &clean, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (clean) {
        MPI_Finalize();
        return 0;
    }
    /* Time for the launcher to print all lines. */
    pause_for(1);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return 0;
}
