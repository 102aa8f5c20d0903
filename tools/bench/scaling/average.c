/*
 * What averaging gradients over MPI costs, compared with copies to the host, MPI_Allreduce of
 * MPI_FLOAT and copies back. In turns, the best of ten; the slowest rank's time counts.
 *
 *   mpiexec -n 2 tools/bench/scaling/average [millions of floats, 25.6 as in ResNet-50 [bucket_bytes]]
 */
#include <stdio.h>
#include <stdlib.h>

#include <syncbn-mpi.h>
#include <syncbn.h>

#include "program/opencl.h"

enum { TURNS = 10, TENSORS = 160 };

static void check(int status, const char *doing)
{
    if (status == SBN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s %s\n", doing, sbn_strerror(status), sbn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static cl_command_queue open_queue(cl_context *context)
{
    cl_platform_id platforms[16];
    cl_device_id device = NULL;
    cl_uint count = 0;
    cl_int status;
    check(clGetPlatformIDs(16, platforms, &count), "finding a platform");
    for (cl_uint p = 0; p < count && p < 16 && !device; ++p)
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
            device = NULL;
    *context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "making a context");
    cl_command_queue queue = clCreateCommandQueue(*context, device, 0, &status);
    check(status, "making a queue");
    return queue;
}

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
    check(sbn_average_gradients(parallel, counts, TENSORS, tensors), "averaging");
    check(clFinish(queue), "clFinish");
    return slowest(start);
}

static double add_floats(cl_command_queue queue, cl_mem memory, float *host, size_t count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    check(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof *host * count, host, 0, NULL, NULL),
          "reading");
    MPI_Allreduce(MPI_IN_PLACE, host, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof *host * count, host, 0, NULL,
                               NULL),
          "writing");
    return slowest(start);
}

int main(int argc, char **argv)
{
    const double millions = argc > 1 ? atof(argv[1]) : 25.6;
    const size_t each = (size_t)(millions * 1e6 / TENSORS), count = each * TENSORS;
    size_t counts[TENSORS];
    sbn_buffer buffers[TENSORS];
    sbn_tensors tensors = {.size = sizeof(sbn_tensors), .buffers = buffers};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_data_parallel_config parallel_config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    sbn_mpi *mpi;
    sbn_group *group;
    sbn_data_parallel *parallel;
    cl_context context;
    cl_int status;
    int level, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    cl_command_queue queue = open_queue(&context);
    float *host = malloc(sizeof *host * count);
    check(host && each > 0 ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "memory");
    for (size_t i = 0; i < count; ++i)
        host[i] = (float)((i * 2654435761u + (size_t)rank) % 65521) * 0x1p-20f;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof *host * count, host, &status);
    check(status, "making a buffer");
    for (int t = 0; t < TENSORS; ++t) {
        counts[t] = each;
        buffers[t] = (sbn_buffer){memory, each * (size_t)t};
    }
    check(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "making a transport");
    check(sbn_mpi_transport(mpi, &transport), "asking for its table");
    config.queues = &queue;
    config.replicas = 1;
    config.transport = &transport;
    check(sbn_group_create(&config, &group), "making a group");
    if (argc > 2)
        parallel_config.bucket_bytes = (size_t)atol(argv[2]);
    check(sbn_data_parallel_create(group, &parallel_config, &parallel), "joining the replicas");
    double best[2] = {1e9, 1e9};
    for (int turn = 0; turn < TURNS; ++turn) {
        const double seconds[] = {average(parallel, counts, &tensors, queue),
                                  add_floats(queue, memory, host, count)};
        for (int i = 0; i < 2; ++i)
            best[i] = seconds[i] < best[i] ? seconds[i] : best[i];
    }
    if (rank == 0)
        printf("%d ranks, %.1f million floats each\n"
               "sbn_average_gradients  %7.1f ms  %5.2f ns per float  8.06 bytes of each sent\n"
               "copies, MPI_FLOAT      %7.1f ms  %5.2f ns per float  4 bytes of each sent\n",
               ranks, (double)count * 1e-6, best[0] * 1e3, best[0] * 1e9 / (double)count,
               best[1] * 1e3, best[1] * 1e9 / (double)count);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
    check(sbn_mpi_destroy(mpi), "ending the transport");
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(host);
    MPI_Finalize();
    return 0;
}
