/*
 * scaling SECONDS CHANNELS...: what it costs to combine a pass over the ranks of an MPI job on one machine.
 *
 * Every rank has two values per channel, so kernels take next to no time and what is left is the
 * combination. Each round times, in an order of its own and from a barrier each, on all ranks:
 *
 *   sum       the transport's reduction of forward's words, and nothing else
 *   alone     a pass of a group of this rank alone, forward and backward
 *   echo      the same with a transport that answers at once: the host's own part
 *   joined    the same over all ranks; joined less alone is the cost of combining
 *
 * Rank 0 prints a line for each number of channels and series: in microseconds the median, the
 * quartiles and the least of the rounds.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <syncbn-mpi.h>

#include "bench/contender.h"
#include "bench/spread.h"
#include "check/devices.h"
#include "program/opencl.h"

/* The same layer in three groups. */
typedef enum scaling_group { ALONE, ECHO, JOINED, GROUPS } scaling_group;

typedef struct scaling_rank {
    int rank, world_size;
    cl_context context;
    cl_command_queue queue;
    sbn_mpi *mpi, *bare; /* of the joined group, and of sums without a group */
    sbn_group *groups[GROUPS];
    problem problem;
    placement placement;
    inputs inputs;
    outputs outputs;
    job jobs[GROUPS];
    int64_t *words;
    size_t count; /* of words */
    char error[RUNNER_ERROR];
} scaling_rank;

static void fail(const scaling_rank *r, const char *what, int status)
{
    fprintf(stderr, "scaling: rank %d: %s: %s %s\n", r->rank, what, sbn_strerror(status),
            sbn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(const scaling_rank *r, int status, const char *what)
{
    if (status)
        fail(r, what, status);
}

/* --- a transport that answers at once, as if the other rank sent the same -------- */

static int echo_start(void *context, int stream, int64_t *words, size_t count, void **request)
{
    (void)context, (void)stream;
    for (size_t i = 0; i < count; ++i)
        words[i] *= 2;
    *request = words;
    return 0;
}

static int echo_test(void *context, void *request, int *done)
{
    (void)context, (void)request;
    *done = 1;
    return 0;
}

/* --- opening and closing ------------------------------------------------------------ */

static void open_queue(scaling_rank *r)
{
    device_list list;
    cl_int code = CL_DEVICE_NOT_FOUND;
    must(r, devices_list(&list), "listing devices");
    for (size_t i = 0; i < list.devices && !r->queue; ++i) {
        const device_info *d = &list.device[i];
        if (!d->usable || strcmp(list.platform[d->platform].name, "Portable Computing Language"))
            continue;
        r->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
        must(r, code, "clCreateContext");
        r->queue = clCreateCommandQueue(r->context, d->id, 0, &code);
    }
    devices_free(&list);
    must(r, code, "making a queue on PoCL's first device");
}

static void open_group(scaling_rank *r, scaling_group which, const sbn_transport *transport)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &r->queue;
    config.replicas = 1;
    config.transport = transport;
    must(r, sbn_group_create(&config, &r->groups[which]), "sbn_group_create");
}

static void scaling_open(scaling_rank *r)
{
    const sbn_transport echo = {.size = sizeof echo,
                                .rank = 0,
                                .world_size = 2,
                                .start = echo_start,
                                .test = echo_test};
    sbn_transport joined = SBN_TRANSPORT_INIT;
    memset(r, 0, sizeof *r);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->world_size);
    open_queue(r);
    must(r, sbn_mpi_create(MPI_COMM_WORLD, &r->mpi), "sbn_mpi_create");
    must(r, sbn_mpi_create(MPI_COMM_WORLD, &r->bare), "sbn_mpi_create");
    must(r, sbn_mpi_transport(r->mpi, &joined), "sbn_mpi_transport");
    open_group(r, ALONE, NULL);
    open_group(r, ECHO, &echo);
    open_group(r, JOINED, &joined);
}

static void scaling_close(scaling_rank *r)
{
    for (int i = 0; i < GROUPS; ++i)
        sbn_group_destroy(r->groups[i]);
    must(r, sbn_mpi_destroy(r->mpi), "sbn_mpi_destroy");
    must(r, sbn_mpi_destroy(r->bare), "sbn_mpi_destroy");
    clReleaseCommandQueue(r->queue);
    clReleaseContext(r->context);
}

static void scaling_open_channels(scaling_rank *r, const char *channels)
{
    char line[64];
    snprintf(line, sizeof line, "mb2ic%s,passes=fb", channels);
    if (problem_parse(line, &r->problem, r->error, sizeof r->error))
        fail(r, r->error, SBN_INVALID_ARGUMENT);
    must(r, placement_make(&r->problem, 1, &r->placement), "placement_make");
    must(r, inputs_make(&r->problem, &r->placement, &r->inputs), "inputs_make");
    for (int i = 0; i < GROUPS; ++i) {
        r->jobs[i] = (job){.p = &r->problem,
                           .g = &r->placement,
                           .in = &r->inputs,
                           .out = &r->outputs,
                           .error = r->error};
        must(r, job_open(&r->jobs[i], r->groups[i], &r->queue), "job_open");
    }
    r->count = 1 + 8 * r->problem.channels;
    r->words = calloc(r->count, sizeof *r->words);
    must(r, r->words ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "words");
}

static void scaling_close_channels(scaling_rank *r)
{
    for (int i = 0; i < GROUPS; ++i)
        job_close(&r->jobs[i]);
    inputs_free(&r->inputs);
    placement_free(&r->placement);
    free(r->words);
}

/* --- what is timed -------------------------------------------------------------------- */

/* One clock for all processes of a machine. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* MPI's own waiting spins, and would take the processor from other ranks. */
static void wait_politely(const scaling_rank *r, MPI_Request request)
{
    int done = 0;
    while (!done) {
        must(r, MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (!done)
            sched_yield();
    }
}

static double begin(const scaling_rank *r)
{
    MPI_Request request;
    must(r, MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    wait_politely(r, request);
    return now();
}

/* Ranks leave a barrier one after the other: from the last that begins to the last that ends. */
static double end(const scaling_rank *r, double since)
{
    double times[] = {since, now()};
    MPI_Request request;
    must(r, MPI_Iallreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request),
         "MPI_Iallreduce");
    wait_politely(r, request);
    return times[1] - times[0];
}

static double sum(scaling_rank *r)
{
    sbn_transport table = SBN_TRANSPORT_INIT;
    void *request;
    int done = 0;
    must(r, sbn_mpi_transport(r->bare, &table), "sbn_mpi_transport");
    const double since = begin(r);
    must(r, table.start(table.context, SBN_TAG_WORDS, r->words, r->count, &request), "start");
    while (!done) {
        must(r, table.test(table.context, request, &done), "test");
        if (!done)
            sched_yield();
    }
    return end(r, since);
}

static double pass(scaling_rank *r, scaling_group group, bench_pass which)
{
    job *j = &r->jobs[group];
    const double since = begin(r);
    must(r, which == BENCH_FORWARD ? job_forward(j, NULL) : job_backward(j, NULL), r->error);
    must(r, clFinish(r->queue), "clFinish");
    return end(r, since);
}

/* --- rounds --------------------------------------------------------------------------- */

enum { SUM, ALONE_F, ALONE_B, ECHO_F, ECHO_B, JOINED_F, JOINED_B, ROWS };

static struct {
    const char *name;
    scaling_group group;
    bench_pass pass;
    double seconds[SPREAD_MAX];
} rows[ROWS] = {
    [SUM] = {.name = "sum"},
    [ALONE_F] = {"alone-forward", ALONE, BENCH_FORWARD, {0}},
    [ALONE_B] = {"alone-backward", ALONE, BENCH_BACKWARD, {0}},
    [ECHO_F] = {"echo-forward", ECHO, BENCH_FORWARD, {0}},
    [ECHO_B] = {"echo-backward", ECHO, BENCH_BACKWARD, {0}},
    [JOINED_F] = {"joined-forward", JOINED, BENCH_FORWARD, {0}},
    [JOINED_B] = {"joined-backward", JOINED, BENCH_BACKWARD, {0}},
};

static void run(scaling_rank *r, size_t row, size_t round)
{
    rows[row].seconds[round] = row == SUM ? sum(r) : pass(r, rows[row].group, rows[row].pass);
}

static void print(const scaling_rank *r, const char *name, spread s)
{
    printf("%d %zu %s %.1f %.1f %.1f %.1f\n", r->world_size, r->problem.channels, name,
           1e6 * s.median, 1e6 * s.quartile1, 1e6 * s.quartile3, 1e6 * s.least);
}

/* As many rounds as fit the time, estimated by rank 0 from the warm-up. */
static void measure(scaling_rank *r, double budget)
{
    enum { LEAST = 9, BEFORE = 4 };
    double round = 0.0;
    for (int warm_up = 0; warm_up < BEFORE; ++warm_up) {
        round = MPI_Wtime();
        for (size_t i = 0; i < ROWS; ++i)
            run(r, i, 0);
        round = MPI_Wtime() - round;
    }
    double wanted = fmin(fmax(budget / round, LEAST), SPREAD_MAX);
    MPI_Bcast(&wanted, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const size_t rounds = (size_t)wanted;
    for (size_t n = 0; n < rounds; ++n)
        for (size_t i = 0; i < ROWS; ++i)
            run(r, (i * 4 + n) % ROWS, n);
    if (r->rank > 0)
        return;
    for (size_t i = 0; i < ROWS; ++i)
        print(r, rows[i].name, spread_of(rows[i].seconds, rounds));
    print(r, "combine-forward",
          spread_of_differences(rows[JOINED_F].seconds, rows[ALONE_F].seconds, rounds));
    print(r, "combine-backward",
          spread_of_differences(rows[JOINED_B].seconds, rows[ALONE_B].seconds, rounds));
}

int main(int argc, char **argv)
{
    scaling_rank rank;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    if (argc < 3 || atof(argv[1]) <= 0) {
        fputs("usage: scaling SECONDS CHANNELS...\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    scaling_open(&rank);
    for (int i = 2; i < argc; ++i) {
        scaling_open_channels(&rank, argv[i]);
        measure(&rank, atof(argv[1]));
        scaling_close_channels(&rank);
    }
    scaling_close(&rank);
    MPI_Finalize();
    return 0;
}
