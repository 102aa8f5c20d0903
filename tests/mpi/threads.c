/*
 * MPI's thread levels, `mpi_threads serialized|multiple` on 2 ranks or more: another thread may call,
 * and with the last one several threads of every rank at once. Lower levels: tests/mpi/arguments.
 */
#include <pthread.h>
#include <string.h>

#include <syncbn-mpi.h>

#include "support/fixture.h"
#include "support/tap_mpi.h"

enum { CHANNELS = 3, PLANE = 33, THREADS = 3, PASSES = 40 };

static fixture device;

/* A group of this rank's, and what a thread came to with it. */
typedef struct user {
    sbn_mpi *mpi;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice slice;
    pthread_t thread;
    int status;
    uint64_t digest;
    char sentence[512];
} user;

static void open_user(user *u, unsigned seed)
{
    sbn_transport table = SBN_TRANSPORT_INIT;
    cl_command_queue queue = fixture_queue(&device, 0);
    memset(u, 0, sizeof *u);
    must(sbn_mpi_create(MPI_COMM_WORLD, &u->mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(u->mpi, &table), "sbn_mpi_transport");
    u->group = fixture_rank(&queue, 1, &table);
    u->layer = fixture_layer(u->group, CHANNELS);
    u->saved = fixture_saved(u->layer);
    slice_open(&u->slice, &device, queue, 2 * (size_t)mpi_job_rank(), 2, CHANNELS, PLANE, seed);
}

static void close_user(user *u)
{
    slice_close(&u->slice);
    fixture_end(u->layer, u->saved);
    sbn_group_destroy(u->group);
    clReleaseCommandQueue(u->slice.queue);
    expect(sbn_mpi_destroy(u->mpi), SBN_SUCCESS, "", "ending a transport");
}

/* Passes, and the digest of their statistics. */
static void *train(void *argument)
{
    user *u = argument;
    u->status = SBN_SUCCESS;
    u->digest = SBN_DIGEST_START;
    for (int i = 0; i < PASSES && !u->status; ++i) {
        float mean[CHANNELS], var[CHANNELS];
        u->status = sbn_forward(u->layer, &u->slice.shard, u->saved, 0, NULL);
        if (!u->status)
            u->status = sbn_saved_stats(u->saved, mean, var, NULL);
        u->digest = sbn__digest(sbn__digest(u->digest, mean, sizeof mean), var, sizeof var);
        if (!u->status)
            u->status = sbn_backward(u->layer, &u->slice.shard, u->saved, 0, NULL);
    }
    strncpy(u->sentence, sbn_last_error(), sizeof u->sentence - 1);
    return NULL;
}

static void in_threads(user *users, int count)
{
    for (int i = 0; i < count; ++i)
        must(pthread_create(&users[i].thread, NULL, train, &users[i]), "pthread_create");
    for (int i = 0; i < count; ++i)
        pthread_join(users[i].thread, NULL);
}

/* So many at once: the bits of one after the other. */
static void check_threads(const char *level, int count)
{
    user users[THREADS];
    uint64_t one_by_one[THREADS];
    for (int i = 0; i < count; ++i) {
        open_user(&users[i], 9 + (unsigned)i);
        train(&users[i]);
        one_by_one[i] = users[i].digest;
    }
    in_threads(users, count);
    for (int i = 0; i < count; ++i)
        tap_ok(users[i].status == SBN_SUCCESS && users[i].digest == one_by_one[i],
               "%s: thread %d of %d at once: the bits of one after the other: %s %s", level, i,
               count, sbn_strerror(users[i].status), users[i].sentence);
    for (int i = 0; i < count; ++i)
        close_user(&users[i]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int level;
        int threads;
    } levels[] = {{"serialized", MPI_THREAD_SERIALIZED, 1},
                  {"multiple", MPI_THREAD_MULTIPLE, THREADS}};
    const size_t i = argc > 1 && !strcmp(argv[1], levels[1].name);
    tap_mpi_begin_level(&argc, &argv, levels[i].level);
    int provided;
    MPI_Query_thread(&provided);
    if (fixture_open(&device))
        return mpi_job_end(fixture_missing());
    if (provided < levels[i].level)
        tap_skip("%s: this MPI gives another level", levels[i].name);
    else
        check_threads(levels[i].name, levels[i].threads);
    fixture_close(&device);
    return mpi_job_end(tap_done());
}
