/*
 * Ranks whose process has no OpenCL platform, among others that have a device: the drivers are hidden from the odd
 * ranks, before OpenCL is first called. They take part and get the statistics of the other ranks' samples.
 */
#include <stdlib.h>

#include "support/tap_mpi.h"
#include "support/ranks.h"

int main(int argc, char **argv)
{
    fixture device;
    size_t apart[RANKS_MAX], one[] = {0};
    tap_mpi_begin(&argc, &argv);
    const int is_odd = mpi_job_rank() % 2, count = mpi_job_size();
    if (is_odd)
        setenv("OCL_ICD_VENDORS", "/none", 1);
    const int has_device = !fixture_open(&device);
    if (!is_odd && !has_device)
        MPI_Abort(MPI_COMM_WORLD, 99);
    tap_ok(has_device != is_odd, "the odd ranks see no OpenCL platform");
    for (int rank = 0; rank < count; ++rank)
        one[0] += apart[rank] = rank % 2 == 0;
    const uint64_t expected = ranks_digest_of(&device, 1, one, NULL, rank_train, "in one process");
    tap_ok(ranks_digest_of(&device, count, apart, NULL, rank_train, "apart") == expected,
           "every rank of %d has the bits of one process", count);
    if (has_device)
        fixture_close(&device);
    return mpi_job_end(tap_done());
}
