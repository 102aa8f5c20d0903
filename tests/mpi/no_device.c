/*
 * Ranks whose process has no OpenCL platform, among others that have a device: the script hides the
 * drivers from the odd ranks. They take part and get the statistics of the other ranks' samples.
 */
#include "support/tap_mpi.h"
#include "support/ranks.h"

int main(int argc, char **argv)
{
    fixture device;
    size_t apart[RANKS_MAX], one[] = {0};
    tap_mpi_begin(&argc, &argv);
    const int has_device = !fixture_open(&device), count = mpi_job_size();
    if (mpi_job_rank() % 2 == 0 && !has_device)
        MPI_Abort(MPI_COMM_WORLD, 99);
    tap_ok(has_device == (mpi_job_rank() % 2 == 0), "the odd ranks see no OpenCL platform");
    for (int rank = 0; rank < count; ++rank)
        one[0] += apart[rank] = rank % 2 == 0;
    const uint64_t expected = ranks_digest_of(&device, 1, one, NULL, rank_train, "in one process");
    tap_ok(ranks_digest_of(&device, count, apart, NULL, rank_train, "apart") == expected,
           "every rank of %d has the bits of one process", count);
    if (has_device)
        fixture_close(&device);
    return mpi_job_end(tap_done());
}
