/*
 * What MPI costs between ranks on one machine.
 *
 *   scaling SECONDS CHANNELS...            combining a pass
 *   scaling average [MILLIONS [BUCKET]]    averaging gradients of so many floats (25.6, as in ResNet-50)
 *
 * Combining: every rank has two values per channel, so kernels take next to no time and what is left is the
 * combination. Each round times, in an order of its own and from a barrier each, on all ranks:
 *
 *   sum       the transport's reduction of forward's words, and nothing else
 *   alone     a pass of a group of this rank alone, forward and backward
 *   echo      the same with a transport that answers at once: the host's own part
 *   joined    the same over all ranks; joined less alone is the cost of combining
 *
 * Rank 0 prints a line for each number of channels and series: in microseconds the median, the
 * quartiles and the least of the rounds.
 *
 * Averaging is compared with copies to the host, MPI_Allreduce of MPI_FLOAT and copies back. In turns, the
 * best of ten, from the last rank that begins to the last that ends.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncbn-mpi.h>

#include "base/clock.h"
#include "bench/spread.h"
#include "check/devices.h"
#include "check/job.h"

/* This rank: a queue on the first usable device. */
static int rank, ranks;
static cl_context context;
static cl_command_queue queue;
static sbn_mpi *mpi;
static sbn_transport transport = SBN_TRANSPORT_INIT;

/* Ends the job with a sentence if there is a status. */
static void must(int status, const char *what)
{
    if (status == SBN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s %s\n", what, sbn_strerror(status), sbn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_rank(int *argc, char ***argv)
{
    device_list list;
    cl_int code = CL_DEVICE_NOT_FOUND;
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(devices_list(&list), "listing devices");
    size_t first = 0;
    while (first < list.devices && !list.device[first].usable)
        ++first;
    must(first < list.devices ? CL_SUCCESS : CL_DEVICE_NOT_FOUND, "finding a device");
    context = clCreateContext(NULL, 1, &list.device[first].id, NULL, NULL, &code);
    must(code, "clCreateContext");
    queue = clCreateCommandQueue(context, list.device[first].id, 0, &code);
    must(code, "clCreateCommandQueue");
    devices_free(&list);
    must(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(mpi, &transport), "sbn_mpi_transport");
}

static void close_rank(void)
{
    must(sbn_mpi_destroy(mpi), "sbn_mpi_destroy");
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    MPI_Finalize();
}

/* A group of this rank's queue; over its transport, another one, or none. */
static sbn_group *make_group(const sbn_transport *over)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group;
    config.queues = &queue;
    config.replicas = 1;
    config.transport = over;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    return group;
}

/* --- time on all ranks --------------------------------------------------------------------- */

/* MPI's own waiting spins, and would take the processor from other ranks. */
static void wait_politely(MPI_Request request)
{
    int done = 0;
    while (!done) {
        must(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (!done)
            sched_yield();
    }
}

static double begin(void)
{
    MPI_Request request;
    must(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    wait_politely(request);
    return sbn__seconds();
}

/*
 * Ranks leave a barrier one after the other: from the last that begins to the last that ends. All
 * processes of a machine have one clock.
 */
static double end(double since)
{
    double times[] = {since, sbn__seconds()};
    MPI_Request request;
    must(MPI_Iallreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request),
         "MPI_Iallreduce");
    wait_politely(request);
    return times[1] - times[0];
}

/* --- combining -------------------------------------------------------------------------- */

/* The same layer in three groups. */
enum { ALONE, ECHO, JOINED, GROUPS };

static sbn_group *groups[GROUPS];
static job jobs[GROUPS];
static int64_t *words;
static size_t word_count;

/* A transport that answers at once, as if the other rank sent the same. */
static int echo_start(void *self, int stream, int64_t *sent, size_t count, void **request)
{
    (void)self, (void)stream;
    for (size_t i = 0; i < count; ++i)
        sent[i] *= 2;
    *request = sent;
    return 0;
}

static int echo_test(void *self, void *request, int *done)
{
    (void)self, (void)request;
    *done = 1;
    return 0;
}

static double sum(void)
{
    const sbn_transport *table = &transport;
    void *request;
    int done = 0;
    const double since = begin();
    must(table->start(table->context, SBN_TAG_WORDS, words, word_count, &request), "start");
    while (!done) {
        must(table->test(table->context, request, &done), "test");
        if (!done)
            sched_yield();
    }
    return end(since);
}

static double pass(int group, int is_backward)
{
    job *j = &jobs[group];
    const double since = begin();
    must(is_backward ? job_backward(j, NULL) : job_forward(j, NULL), j->error);
    must(clFinish(queue), "clFinish");
    return end(since);
}

/* Series: of pass p in group g 2 g + p, and the sum behind them. */
enum { SUM = 2 * GROUPS, ROWS };

static const char *const names[ROWS] =
    {"alone-forward",  "alone-backward",  "echo-forward", "echo-backward",
     "joined-forward", "joined-backward", "sum"};

static void print(const char *name, spread s)
{
    printf("%d %zu %s %.1f %.1f %.1f %.1f\n", ranks, jobs->p->channels, name, 1e6 * s.median,
           1e6 * s.quartile1, 1e6 * s.quartile3, 1e6 * s.least);
}

/* As many rounds as fit the time, estimated by rank 0 from the warm-up. */
static void measure(double budget)
{
    enum { LEAST = 9, BEFORE = 4 };
    static double seconds[ROWS][SPREAD_MAX];
    double round = 0.0;
    for (int n = -BEFORE; n < 0; ++n) {
        round = MPI_Wtime();
        for (int i = 0; i < ROWS; ++i)
            seconds[i][0] = i == SUM ? sum() : pass(i / 2, i % 2);
        round = MPI_Wtime() - round;
    }
    double wanted = fmin(fmax(budget / round, LEAST), SPREAD_MAX);
    MPI_Bcast(&wanted, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const size_t rounds = (size_t)wanted;
    for (size_t n = 0; n < rounds; ++n)
        for (size_t turn = 0; turn < ROWS; ++turn) {
            const int i = (int)((turn * 4 + n) % ROWS);
            seconds[i][n] = i == SUM ? sum() : pass(i / 2, i % 2);
        }
    for (int i = 0; i < ROWS && rank == 0; ++i)
        print(names[i], spread_of(seconds[i], rounds));
    for (int i = 0; i < 2 && rank == 0; ++i)
        print(i ? "combine-backward" : "combine-forward",
              spread_of_differences(seconds[2 * JOINED + i], seconds[2 * ALONE + i], rounds));
}

static void measure_channels(const char *channels, double budget)
{
    char line[64], error[RUNNER_ERROR] = "";
    problem p;
    placement g;
    inputs in;
    outputs out = {.count = 0};
    snprintf(line, sizeof line, "mb2ic%s,passes=fb", channels);
    must(problem_parse(line, &p, error, sizeof error), error);
    must(placement_make(&p, 1, &g), "placement_make");
    must(inputs_make(&p, &g, &in), "inputs_make");
    for (int i = 0; i < GROUPS; ++i) {
        jobs[i] = (job){.p = &p, .g = &g, .in = &in, .out = &out, .error = error};
        must(job_open(&jobs[i], groups[i], &queue), error);
    }
    word_count = 1 + 8 * p.channels;
    words = calloc(word_count, sizeof *words);
    must(words ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "words");
    measure(budget);
    for (int i = 0; i < GROUPS; ++i)
        job_close(&jobs[i]);
    inputs_free(&in);
    placement_free(&g);
    free(words);
}

static void combine(double budget, char **channels)
{
    const sbn_transport echo = {.size = sizeof echo,
                                .rank = 0,
                                .world_size = 2,
                                .start = echo_start,
                                .test = echo_test};
    groups[ALONE] = make_group(NULL);
    groups[ECHO] = make_group(&echo);
    groups[JOINED] = make_group(&transport);
    for (; *channels; ++channels)
        measure_channels(*channels, budget);
    for (int i = 0; i < GROUPS; ++i)
        sbn_group_destroy(groups[i]);
}

/* --- averaging -------------------------------------------------------------------------- */

enum { TURNS = 10, PARAMETERS = 160 };

static double average_once(sbn_data_parallel *parallel, const size_t *counts,
                           const sbn_tensors *gradients)
{
    const double since = begin();
    must(sbn_average_gradients(parallel, counts, PARAMETERS, gradients), "averaging");
    must(clFinish(queue), "clFinish");
    return end(since);
}

static double add_floats(cl_mem memory, float *host, size_t count)
{
    const double since = begin();
    must(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof *host * count, host, 0, NULL, NULL),
         "reading");
    MPI_Allreduce(MPI_IN_PLACE, host, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    must(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof *host * count, host, 0, NULL, NULL),
         "writing");
    return end(since);
}

static void average(double millions, size_t bucket_bytes)
{
    size_t counts[PARAMETERS];
    sbn_buffer buffers[PARAMETERS];
    sbn_tensors gradients = {.size = sizeof(sbn_tensors), .buffers = buffers};
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_data_parallel *parallel;
    cl_int status;
    const size_t each = (size_t)(millions * 1e6 / PARAMETERS), count = each * PARAMETERS;
    float *host = malloc(sizeof *host * count);
    must(host && each > 0 ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "memory");
    for (size_t i = 0; i < count; ++i)
        host[i] = (float)((i * 2654435761u + (size_t)rank) % 65521) * 0x1p-20f;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof *host * count, host, &status);
    must(status, "making a buffer");
    for (size_t t = 0; t < PARAMETERS; ++t) {
        counts[t] = each;
        buffers[t] = (sbn_buffer){memory, each * t};
    }
    sbn_group *group = make_group(&transport);
    config.bucket_bytes = bucket_bytes ? bucket_bytes : config.bucket_bytes;
    must(sbn_data_parallel_create(group, &config, &parallel), "joining the replicas");
    double best[2] = {1e9, 1e9};
    for (int turn = 0; turn < TURNS; ++turn) {
        const double seconds[] = {average_once(parallel, counts, &gradients),
                                  add_floats(memory, host, count)};
        for (int i = 0; i < 2; ++i)
            best[i] = seconds[i] < best[i] ? seconds[i] : best[i];
    }
    if (rank == 0)
        printf("%d ranks, %.1f million floats each\n"
               "sbn_average_gradients  %7.1f ms  %5.2f ns per float  8.05 bytes of each sent\n"
               "copies, MPI_FLOAT      %7.1f ms  %5.2f ns per float  4 bytes of each sent\n",
               ranks, (double)count * 1e-6, best[0] * 1e3, best[0] * 1e9 / (double)count,
               best[1] * 1e3, best[1] * 1e9 / (double)count);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
    clReleaseMemObject(memory);
    free(host);
}

int main(int argc, char **argv)
{
    open_rank(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "average") == 0) {
        average(argc > 2 ? atof(argv[2]) : 25.6, argc > 3 ? (size_t)atol(argv[3]) : 0);
    } else if (argc > 2 && atof(argv[1]) > 0) {
        combine(atof(argv[1]), argv + 2);
    } else {
        fputs("usage: scaling SECONDS CHANNELS... | scaling average [MILLIONS [BUCKET]]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    close_rank();
    return 0;
}
