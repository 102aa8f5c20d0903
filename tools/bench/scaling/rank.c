#include "bench/scaling/rank.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/devices.h"

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

void scaling_open(scaling_rank *r)
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
    open_group(r, SCALING_ALONE, NULL);
    open_group(r, SCALING_ECHO, &echo);
    open_group(r, SCALING_JOINED, &joined);
}

void scaling_close(scaling_rank *r)
{
    for (int i = 0; i < SCALING_GROUPS; ++i)
        sbn_group_destroy(r->groups[i]);
    must(r, sbn_mpi_destroy(r->mpi), "sbn_mpi_destroy");
    must(r, sbn_mpi_destroy(r->bare), "sbn_mpi_destroy");
    clReleaseCommandQueue(r->queue);
    clReleaseContext(r->context);
}

void scaling_open_channels(scaling_rank *r, const char *channels)
{
    char line[64];
    snprintf(line, sizeof line, "mb2ic%s,passes=fb", channels);
    if (problem_parse(line, &r->problem, r->error, sizeof r->error))
        fail(r, r->error, SBN_INVALID_ARGUMENT);
    must(r, placement_make(&r->problem, 1, &r->placement), "placement_make");
    must(r, inputs_make(&r->problem, &r->placement, &r->inputs), "inputs_make");
    for (int i = 0; i < SCALING_GROUPS; ++i) {
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

void scaling_close_channels(scaling_rank *r)
{
    for (int i = 0; i < SCALING_GROUPS; ++i)
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
static double end(const scaling_rank *r, double since, double rested)
{
    double times[] = {since, now() - rested};
    MPI_Request request;
    must(r, MPI_Iallreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request),
         "MPI_Iallreduce");
    wait_politely(r, request);
    return times[1] - times[0];
}

double scaling_sum(scaling_rank *r)
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
    return end(r, since, 0.0);
}

double scaling_pass(scaling_rank *r, scaling_group group, bench_pass pass)
{
    job *j = &r->jobs[group];
    const double since = begin(r);
    must(r, pass == BENCH_FORWARD ? job_forward(j, NULL) : job_backward(j, NULL), r->error);
    must(r, clFinish(r->queue), "clFinish");
    return end(r, since, 0.0);
}

/* Sleeps; returns for how long. */
static double rest(double seconds)
{
    const double since = now();
    const struct timespec time = {(time_t)seconds,
                                  (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
    return now() - since;
}

double scaling_hidden(scaling_rank *r, int progress)
{
    enum { SLICES = 30 };
    job *j = &r->jobs[SCALING_JOINED];
    sbn_pass *pass;
    double rested = 0.0;
    const double since = begin(r);
    must(r, sbn_forward_begin(j->layer, j->shards, j->saved, j->p->forward_flags, &pass), "begin");
    while (rested < r->pause) {
        rested += rest(progress ? r->pause / SLICES : r->pause);
        if (progress)
            must(r, sbn_pass_progress(pass, NULL), "progress");
    }
    must(r, sbn_pass_end(pass, NULL), "end");
    must(r, clFinish(r->queue), "clFinish");
    return end(r, since, rested);
}
