/*
 * Ranks whose process has no OpenCL platform, among others that have a device: the script hides the
 * drivers from the odd ranks. They take part and get the statistics of the other ranks' samples.
 */
#include <string.h>

#include <syncbn-mpi.h>

#include "support/fixture.h"
#include "support/ranks.h"
#include "support/tap_mpi.h"

enum { CHANNELS = 3, PLANE = 33, SAMPLES = 2 };

static fixture device;
static int has_device;

typedef struct training {
    sbn_mpi *mpi;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice slices[16];
    sbn_shard shards[16];
} training;

/* This rank over MPI, or, without a transport, `replicas` in this process. */
static void open_training(training *t, int over_mpi, size_t replicas, size_t first)
{
    sbn_transport table = SBN_TRANSPORT_INIT;
    cl_command_queue queues[16] = {NULL};
    memset(t, 0, sizeof *t);
    for (size_t r = 0; r < replicas; ++r) {
        queues[r] = fixture_queue(&device, 0);
        slice_open(&t->slices[r], &device, queues[r], (first + r) * SAMPLES, SAMPLES, CHANNELS,
                   PLANE, 9);
        t->shards[r] = t->slices[r].shard;
    }
    if (over_mpi) {
        must(sbn_mpi_create(MPI_COMM_WORLD, &t->mpi), "sbn_mpi_create");
        must(sbn_mpi_transport(t->mpi, &table), "sbn_mpi_transport");
    }
    t->group = fixture_rank(queues, replicas, over_mpi ? &table : NULL);
    t->layer = fixture_layer(t->group, CHANNELS);
    t->saved = fixture_saved(t->layer);
}

static void close_training(training *t, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        slice_close(&t->slices[r]);
    fixture_end(t->layer, t->saved);
    sbn_group_destroy(t->group);
    for (size_t r = 0; r < replicas; ++r)
        clReleaseCommandQueue(t->slices[r].queue);
    must(sbn_mpi_destroy(t->mpi), "sbn_mpi_destroy");
}

static int train(training *t, const sbn_shard *shards)
{
    int status = sbn_forward(t->layer, shards, t->saved, 0, NULL);
    return status ? status : sbn_backward(t->layer, shards, t->saved, 0, NULL);
}

int main(int argc, char **argv)
{
    training here, alone;
    uint64_t expected = 0;
    tap_mpi_begin(&argc, &argv);
    has_device = !fixture_open(&device);
    const size_t own = (size_t)has_device, all = (size_t)(mpi_job_size() + 1) / 2;
    if (mpi_job_rank() % 2 == 0 && !has_device)
        MPI_Abort(MPI_COMM_WORLD, 99);
    tap_ok(has_device == (mpi_job_rank() % 2 == 0), "the odd ranks see no OpenCL platform");
    open_training(&here, 1, own, (size_t)mpi_job_rank() / 2);
    expect(train(&here, own ? here.shards : NULL), SBN_SUCCESS, "", "forward and backward");
    tap_ok(sbn_group_replicas(here.group) == own &&
               sbn_group_world_size(here.group) == mpi_job_size(),
           "%d ranks", mpi_job_size());
    if (mpi_job_rank() == 0) {
        open_training(&alone, 0, all, 0);
        must(train(&alone, alone.shards), "in one process");
        expected = digest_layer(DIGEST_START, alone.layer, alone.saved);
        close_training(&alone, all);
    }
    ranks_broadcast(0, &expected, sizeof expected);
    tap_ok(digest_layer(DIGEST_START, here.layer, here.saved) == expected,
           "every rank has the bits of one process");
    close_training(&here, own);
    if (has_device)
        fixture_close(&device);
    return mpi_job_end(tap_done());
}
