/*
 * scaling SECONDS CHANNELS...: what it costs to combine a pass over the ranks of an MPI job.
 *
 * Every rank has two values per channel, so kernels take next to no time and what is left is the
 * combination. Each round times, in an order of its own and from a barrier each, on all ranks:
 *
 *   sum       the transport's reduction of forward's words, and nothing else
 *   alone     a pass of a group of this rank alone, forward and backward
 *   echo      the same with a transport that answers at once: the host's own part
 *   joined    the same over all ranks; joined less alone is the cost of combining
 *   hidden    joined forward, with 3 pauses of the length of a joined forward and calls of
 *             sbn_pass_progress between begin and end; less the pauses: what was not hidden
 *   unaided   the same without those calls
 *
 * Rank 0 prints a line for each number of channels and series: in microseconds the median, the
 * quartiles and the least of the rounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/scaling/mpi_job.h"
#include "bench/scaling/rank.h"

typedef struct row {
    const char *name;
    double (*run)(scaling_rank *r);
    double seconds[SPREAD_MAX];
} row;

static double alone_forward(scaling_rank *r)
{
    return scaling_pass(r, SCALING_ALONE, BENCH_FORWARD);
}

static double alone_backward(scaling_rank *r)
{
    return scaling_pass(r, SCALING_ALONE, BENCH_BACKWARD);
}

static double echo_forward(scaling_rank *r)
{
    return scaling_pass(r, SCALING_ECHO, BENCH_FORWARD);
}

static double echo_backward(scaling_rank *r)
{
    return scaling_pass(r, SCALING_ECHO, BENCH_BACKWARD);
}

static double joined_forward(scaling_rank *r)
{
    return scaling_pass(r, SCALING_JOINED, BENCH_FORWARD);
}

static double joined_backward(scaling_rank *r)
{
    return scaling_pass(r, SCALING_JOINED, BENCH_BACKWARD);
}

static double hidden(scaling_rank *r)
{
    return scaling_hidden(r, 1);
}

static double unaided(scaling_rank *r)
{
    return scaling_hidden(r, 0);
}

enum { SUM, ALONE_F, ALONE_B, ECHO_F, ECHO_B, JOINED_F, JOINED_B, HIDDEN, UNAIDED, ROWS };

static row rows[ROWS] = {
    [SUM] = {"sum", scaling_sum, {0}},
    [ALONE_F] = {"alone-forward", alone_forward, {0}},
    [ALONE_B] = {"alone-backward", alone_backward, {0}},
    [ECHO_F] = {"echo-forward", echo_forward, {0}},
    [ECHO_B] = {"echo-backward", echo_backward, {0}},
    [JOINED_F] = {"joined-forward", joined_forward, {0}},
    [JOINED_B] = {"joined-backward", joined_backward, {0}},
    [HIDDEN] = {"hidden-forward", hidden, {0}},
    [UNAIDED] = {"unaided-forward", unaided, {0}},
};

static void print(const scaling_rank *r, const char *name, spread s)
{
    printf("%d %zu %s %.1f %.1f %.1f %.1f\n", r->world_size, r->problem.channels, name,
           1e6 * s.median, 1e6 * s.quartile1, 1e6 * s.quartile3, 1e6 * s.least);
}

static void print_rows(scaling_rank *r, size_t rounds)
{
    for (int i = 0; i < ROWS; ++i)
        print(r, rows[i].name, spread_of(rows[i].seconds, rounds));
    print(r, "combine-forward",
          spread_of_differences(rows[JOINED_F].seconds, rows[ALONE_F].seconds, rounds));
    print(r, "combine-backward",
          spread_of_differences(rows[JOINED_B].seconds, rows[ALONE_B].seconds, rounds));
    fflush(stdout);
}

/* As many rounds as fit the time, estimated by rank 0 from the warm-up. */
static void measure(scaling_rank *r, double budget)
{
    enum { LEAST = 9, BEFORE = 4 };
    double round = 0.0;
    for (int warm_up = 0; warm_up < BEFORE; ++warm_up) {
        round = MPI_Wtime();
        for (int i = 0; i < ROWS; ++i)
            rows[i].seconds[0] = rows[i].run(r);
        round = MPI_Wtime() - round;
        r->pause = 3 * rows[JOINED_F].seconds[0];
    }
    double wanted = fmin(fmax(budget / round, LEAST), SPREAD_MAX);
    MPI_Bcast(&wanted, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const size_t rounds = (size_t)wanted;
    for (size_t n = 0; n < rounds; ++n)
        for (size_t i = 0; i < ROWS; ++i) {
            row *one = &rows[(i * 4 + n) % ROWS];
            one->seconds[n] = one->run(r);
        }
    print_rows(r, rounds);
}

int main(int argc, char **argv)
{
    scaling_rank rank;
    mpi_job_begin(&argc, &argv, MPI_THREAD_FUNNELED);
    if (argc < 3 || atof(argv[1]) <= 0) {
        fputs("usage: scaling SECONDS CHANNELS...\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    scaling_open(&rank);
    puts("# ranks channels series median quartile1 quartile3 least (microseconds)");
    for (int i = 2; i < argc; ++i) {
        scaling_open_channels(&rank, argv[i]);
        measure(&rank, atof(argv[1]));
        scaling_close_channels(&rank);
    }
    scaling_close(&rank);
    return mpi_job_end(0);
}
