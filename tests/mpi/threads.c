/*
 * MPI's thread levels, `mpi_threads serialized|multiple` on 2 ranks or more: another thread may call,
 * and with the last one several threads of every rank at once. Lower levels: tests/mpi/arguments.
 */
#include <pthread.h>
#include <string.h>

#include "support/ranks.h"
#include "support/tap_mpi.h"

enum { THREADS = 3, PASSES = 40 };

/* Of the ranks of each thread's group: other ones for each group. */
static const size_t samples[RANKS_MAX + THREADS - 1] = {3, 1, 4, 1, 5, 9, 2, 6, 5,
                                                        3, 5, 8, 9, 7, 9, 3, 2, 3};

static fixture device;

/* Passes of this rank, and the digest of their statistics. */
static void *train(void *group)
{
    test_rank *m = &((test_ranks *)group)->of[mpi_job_rank()];
    must(sbn_batchnorm_reset_running_stats(m->layer), "sbn_batchnorm_reset_running_stats");
    m->digest = SBN_DIGEST_START;
    for (int i = 0; i < PASSES && !rank_train(m); ++i)
        m->digest = digest_layer(m->digest, m->layer, m->saved);
    return NULL;
}

/* So many at once: the bits of one after the other. */
static void check_threads(int count)
{
    static test_ranks groups[THREADS];
    pthread_t threads[THREADS];
    uint64_t one_by_one[THREADS];
    for (int i = 0; i < count; ++i) {
        ranks_open(&groups[i], &device, mpi_job_size(), NULL, samples + i, NULL);
        train(&groups[i]);
        one_by_one[i] = groups[i].of[mpi_job_rank()].digest;
    }
    for (int i = 0; i < count; ++i)
        must(pthread_create(&threads[i], NULL, train, &groups[i]), "pthread_create");
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < count; ++i) {
        const test_rank *m = &groups[i].of[mpi_job_rank()];
        tap_ok(m->status == SBN_SUCCESS && m->digest == one_by_one[i],
               "thread %d of %d at once: the bits of one after the other: %s %s", i, count,
               sbn_strerror(m->status), m->sentence);
        ranks_close(&groups[i]);
    }
}

int main(int argc, char **argv)
{
    const int several = argc > 1 && !strcmp(argv[1], "multiple");
    const int level = several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    int provided;
    tap_mpi_begin_level(&argc, &argv, level);
    MPI_Query_thread(&provided);
    if (fixture_open(&device))
        return mpi_job_end(fixture_missing());
    if (provided < level)
        tap_skip("this MPI gives another level than %d", level);
    else
        check_threads(several ? THREADS : 1);
    fixture_close(&device);
    return mpi_job_end(tap_done());
}
