/*
 * Ranks whose process has no OpenCL platform, among others that have a device: the script hides the
 * drivers from the odd ranks. They take part and get the statistics of the other ranks' samples.
 */
#include "support/tap_mpi.h"
#include "support/ranks.h"

static uint64_t train(const fixture *device, int count, const size_t *replicas, const char *what)
{
    test_ranks all;
    ranks_open(&all, device, count, replicas, NULL, NULL);
    ranks_do(&all, rank_train);
    for (int rank = 0; rank < count; ++rank)
        rank_expect(&all.of[rank], SBN_SUCCESS, "", what);
    const uint64_t digest = ranks_digest(&all);
    ranks_close(&all);
    return digest;
}

int main(int argc, char **argv)
{
    fixture device;
    size_t apart[RANKS_MAX], one[] = {0};
    ranks_begin(&argc, &argv);
    const int has_device = !fixture_open(&device), count = mpi_job_size();
    if (mpi_job_rank() % 2 == 0 && !has_device)
        MPI_Abort(MPI_COMM_WORLD, 99);
    tap_ok(has_device == (mpi_job_rank() % 2 == 0), "the odd ranks see no OpenCL platform");
    for (int rank = 0; rank < count; ++rank)
        one[0] += apart[rank] = rank % 2 == 0;
    const uint64_t expected = train(&device, 1, one, "in one process");
    tap_ok(train(&device, count, apart, "forward and backward") == expected,
           "every rank of %d has the bits of one process", count);
    if (has_device)
        fixture_close(&device);
    return ranks_end(tap_done());
}
