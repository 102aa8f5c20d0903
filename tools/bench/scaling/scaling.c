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

#include "base/clock.h"
#include "bench/contender.h"
#include "bench/scaling/rank.h"
#include "bench/spread.h"

/* The same layer in three groups. */
enum { ALONE, ECHO, JOINED, GROUPS };

static rank self;
static sbn_group *groups[GROUPS];
static job jobs[GROUPS];
static int64_t *words;
static size_t word_count;

/* A transport that answers at once, as if the other rank sent the same. */
static int echo_start(void *context, int stream, int64_t *sent, size_t count, void **request)
{
    (void)context, (void)stream;
    for (size_t i = 0; i < count; ++i)
        sent[i] *= 2;
    *request = sent;
    return 0;
}

static int echo_test(void *context, void *request, int *done)
{
    (void)context, (void)request;
    *done = 1;
    return 0;
}

/* --- what is timed -------------------------------------------------------------------- */

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

static double sum(void)
{
    const sbn_transport *table = &self.transport;
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
    must(clFinish(self.queue), "clFinish");
    return end(since);
}

/* --- rounds --------------------------------------------------------------------------- */

/* Series: of pass p in group g 2 g + p, and the sum behind them. */
enum { SUM = 2 * GROUPS, ROWS };

static const char *const names[ROWS] =
    {"alone-forward",  "alone-backward",  "echo-forward", "echo-backward",
     "joined-forward", "joined-backward", "sum"};

static void print(const char *name, spread s)
{
    printf("%d %zu %s %.1f %.1f %.1f %.1f\n", self.ranks, jobs->p->channels, name, 1e6 * s.median,
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
    for (int i = 0; i < ROWS && self.rank == 0; ++i)
        print(names[i], spread_of(seconds[i], rounds));
    for (int i = 0; i < 2 && self.rank == 0; ++i)
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
        must(job_open(&jobs[i], groups[i], &self.queue), error);
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

int main(int argc, char **argv)
{
    const sbn_transport echo = {.size = sizeof echo,
                                .rank = 0,
                                .world_size = 2,
                                .start = echo_start,
                                .test = echo_test};
    rank_open(&self, &argc, &argv);
    if (argc < 3 || atof(argv[1]) <= 0) {
        fputs("usage: scaling SECONDS CHANNELS...\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    groups[ALONE] = rank_group(&self, NULL);
    groups[ECHO] = rank_group(&self, &echo);
    groups[JOINED] = rank_group(&self, &self.transport);
    for (int i = 2; i < argc; ++i)
        measure_channels(argv[i], atof(argv[1]));
    for (int i = 0; i < GROUPS; ++i)
        sbn_group_destroy(groups[i]);
    rank_close(&self);
    return 0;
}
