/*
 * What averaging gradients over MPI costs, compared with copies to the host, MPI_Allreduce of
 * MPI_FLOAT and copies back. In turns, the best of ten; the slowest rank's time counts.
 *
 *   mpiexec -n 2 tools/bench/scaling/average [millions of floats, 25.6 as in ResNet-50 [bucket_bytes]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/scaling/rank.h"

enum { TURNS = 10, TENSORS = 160 };

/* Seconds since `start` on the slowest rank. */
static double slowest(double start)
{
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

static double average(sbn_data_parallel *parallel, const size_t *counts, const sbn_tensors *tensors,
                      cl_command_queue queue)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    must(sbn_average_gradients(parallel, counts, TENSORS, tensors), "averaging");
    must(clFinish(queue), "clFinish");
    return slowest(start);
}

static double add_floats(cl_command_queue queue, cl_mem memory, float *host, size_t count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    must(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof *host * count, host, 0, NULL, NULL),
         "reading");
    MPI_Allreduce(MPI_IN_PLACE, host, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    must(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof *host * count, host, 0, NULL, NULL),
         "writing");
    return slowest(start);
}

int main(int argc, char **argv)
{
    size_t counts[TENSORS];
    sbn_buffer buffers[TENSORS];
    sbn_tensors tensors = {.size = sizeof(sbn_tensors), .buffers = buffers};
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_data_parallel *parallel;
    rank self;
    cl_int status;
    rank_open(&self, &argc, &argv);
    const double millions = argc > 1 ? atof(argv[1]) : 25.6;
    const size_t each = (size_t)(millions * 1e6 / TENSORS), count = each * TENSORS;
    float *host = malloc(sizeof *host * count);
    must(host && each > 0 ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "memory");
    for (size_t i = 0; i < count; ++i)
        host[i] = (float)((i * 2654435761u + (size_t)self.rank) % 65521) * 0x1p-20f;
    cl_mem memory = clCreateBuffer(self.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof *host * count, host, &status);
    must(status, "making a buffer");
    for (size_t t = 0; t < TENSORS; ++t) {
        counts[t] = each;
        buffers[t] = (sbn_buffer){memory, each * t};
    }
    sbn_group *group = rank_group(&self, &self.transport);
    if (argc > 2)
        config.bucket_bytes = (size_t)atol(argv[2]);
    must(sbn_data_parallel_create(group, &config, &parallel), "joining the replicas");
    double best[2] = {1e9, 1e9};
    for (int turn = 0; turn < TURNS; ++turn) {
        const double seconds[] = {average(parallel, counts, &tensors, self.queue),
                                  add_floats(self.queue, memory, host, count)};
        for (int i = 0; i < 2; ++i)
            best[i] = seconds[i] < best[i] ? seconds[i] : best[i];
    }
    if (self.rank == 0)
        printf("%d ranks, %.1f million floats each\n"
               "sbn_average_gradients  %7.1f ms  %5.2f ns per float  8.06 bytes of each sent\n"
               "copies, MPI_FLOAT      %7.1f ms  %5.2f ns per float  4 bytes of each sent\n",
               self.ranks, (double)count * 1e-6, best[0] * 1e3, best[0] * 1e9 / (double)count,
               best[1] * 1e3, best[1] * 1e9 / (double)count);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
    clReleaseMemObject(memory);
    free(host);
    rank_close(&self);
    return 0;
}
