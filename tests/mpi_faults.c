/*
 * What goes wrong for real, one fault for each run: `mpi_faults FAULT [local]`
 * on 4 ranks. Ranks 1 and 3 are the faulty ones where there are two, else rank
 * 1; `local` lets the group go on with local statistics after a timeout. Every
 * rank prints one line,
 *
 *   rank R: STATUS: sentence
 *
 * for the pass that met the fault, and "rank R: afterwards: ..." for another
 * one, and the program ends the documented way: by MPI_Finalize where the
 * group lives, by MPI_Abort(…, 3) after a timeout. tests/mpi_faults.sh looks at
 * what was printed and how the job ended.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <syncbn-mpi.h>

#include "fixture.h"
#include "wraps.h"

enum { CHANNELS = 3, PLANE = 33, SAMPLES = 2 };

typedef struct training {
    int rank;
    sbn_group *group;
    sbn_batchnorm *first, *second, *odd;
    sbn_saved *first_saved, *second_saved, *odd_saved;
    slice slice, odd_slice;
} training;

static double timeout = 60.0;
static sbn_timeout_action action = SBN_TIMEOUT_FAIL;

static void say(const training *t, const char *when, int status)
{
    printf("rank %d: %s%s: %s\n", t->rank, when, sbn_strerror(status), sbn_last_error());
    fflush(stdout);
}

static void pause_for(double seconds)
{
    const struct timespec time = {(time_t)seconds,
                                  (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

static int first(training *t)
{
    return sbn_forward(t->first, &t->slice.share, t->first_saved, 0, NULL);
}

static int second(training *t)
{
    return sbn_forward(t->second, &t->slice.share, t->second_saved, 0, NULL);
}

/* One faulty rank skips the first layer; both members of a swap call the other's layer. */
static int skip(training *t)
{
    return t->rank == 1 ? second(t) : first(t);
}

static int swap(training *t)
{
    const int status = t->rank == 1 ? second(t) : first(t);
    say(t, "", status);
    return t->rank == 1 ? first(t) : second(t);
}

static int two(training *t)
{
    if (t->rank == 1)
        return second(t);
    return t->rank == 3 ? sbn_backward(t->first, &t->slice.share, t->first_saved, 0, NULL)
                        : first(t);
}

static int two_alike(training *t)
{
    return t->rank == 1 || t->rank == 3 ? second(t) : first(t);
}

static int channels(training *t)
{
    return sbn_forward(t->odd, &t->odd_slice.share, t->odd_saved, 0, NULL);
}

static int device(training *t)
{
    wraps_fail(WRAP_LAUNCH, t->rank == 1);
    const int status = first(t);
    wraps_fail(WRAP_LAUNCH, 0);
    return status;
}

static int late_device(training *t)
{
    wraps_fail(WRAP_EVENT_INFO, t->rank == 1);
    return first(t);
}

static int sleeper(training *t)
{
    if (t->rank == 1)
        pause_for(120);
    return first(t);
}

/* Rank 1 sleeps; rank 2 gives up long after the others, who had come: it must not name them. */
static int staggered(training *t)
{
    if (t->rank == 1)
        pause_for(120);
    if (t->rank == 2)
        pause_for(timeout / 2);
    return first(t);
}

static int stop(training *t)
{
    if (t->rank == 1)
        raise(SIGSTOP);
    return first(t);
}

static int kill_rank(training *t)
{
    if (t->rank == 1)
        raise(SIGKILL);
    return first(t);
}

typedef struct fault {
    const char *name;
    int (*pass)(training *);
    double timeout;
} fault;

static const fault faults[] = {
    {"skip", skip, 60},
    {"swap", swap, 60},
    {"two", two, 60},
    {"two_alike", two_alike, 60},
    {"channels", channels, 60},
    {"device", device, 60},
    {"late_device", late_device, 60},
    {"sleep", sleeper, 10},
    {"staggered", staggered, 10},
    {"stop", stop, 10},
    {"kill", kill_rank, 60},
};

static sbn_batchnorm *make_layer(sbn_group *group, const char *name, size_t count,
                                 sbn_saved **saved)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    config.name = name;
    config.channels = count;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, saved), "sbn_saved_create");
    return layer;
}

static void open_training(training *t, const fixture *f, const sbn_transport *transport)
{
    const size_t odd = t->rank == 1 ? 2 : CHANNELS;
    cl_command_queue queue = fixture_queue(f, 0);
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    config.transport = transport;
    config.timeout = timeout;
    config.on_timeout = action;
    must(sbn_group_create(&config, &t->group), "sbn_group_create");
    t->first = make_layer(t->group, "first", CHANNELS, &t->first_saved);
    t->second = make_layer(t->group, "second", CHANNELS, &t->second_saved);
    t->odd = make_layer(t->group, "odd", odd, &t->odd_saved);
    slice_open(&t->slice, f, queue, (size_t)t->rank * SAMPLES, SAMPLES, CHANNELS, PLANE, 9);
    slice_open(&t->odd_slice, f, queue, (size_t)t->rank * SAMPLES, SAMPLES, odd, PLANE, 9);
}

static void close_training(training *t)
{
    slice_close(&t->slice);
    slice_close(&t->odd_slice);
    sbn_saved_destroy(t->first_saved);
    sbn_saved_destroy(t->second_saved);
    sbn_saved_destroy(t->odd_saved);
    sbn_batchnorm_destroy(t->first);
    sbn_batchnorm_destroy(t->second);
    sbn_batchnorm_destroy(t->odd);
    sbn_group_destroy(t->group);
    clReleaseCommandQueue(t->slice.queue);
}

int main(int argc, char **argv)
{
    const fault *f = faults, *end = faults + sizeof faults / sizeof *faults;
    const char *name = argc > 1 ? argv[1] : "";
    fixture device_of_rank;
    sbn_mpi *mpi;
    sbn_transport transport;
    training t = {0};
    int level;
    while (f < end && strcmp(f->name, name) != 0)
        ++f;
    if (f == end || fixture_open(&device_of_rank))
        return 99;
    timeout = f->timeout;
    if (argc > 2 && !strcmp(argv[2], "local"))
        action = SBN_TIMEOUT_LOCAL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    must(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(mpi, &transport), "sbn_mpi_transport");
    open_training(&t, &device_of_rank, &transport);
    /* All together until here, whatever their start took. */
    must(first(&t), "the first pass");
    MPI_Barrier(MPI_COMM_WORLD);
    int status = f->pass(&t);
    say(&t, "", status);
    const int dead = status == SBN_TIMEOUT;
    sbn_result result = SBN_RESULT_INIT;
    status = sbn_backward(t.first, &t.slice.share, t.first_saved, 0, &result);
    say(&t, "afterwards: ", status);
    if (!result.synchronised && !status)
        printf("rank %d: local statistics\n", t.rank);
    close_training(&t);
    status = sbn_mpi_destroy(mpi);
    say(&t, "the transport: ", status);
    fixture_close(&device_of_rank);
    if (status || dead) {
        /* This ends the others too: they have lines to print. */
        pause_for(f->pass == staggered ? timeout / 2 + 5 : 5);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Finalize();
    return 0;
}
