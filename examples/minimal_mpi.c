/*
 * The shortest complete program over MPI: a batch of three samples, two on rank 0
 * and one on rank 1, normalised as one batch. Further ranks have none.
 *
 *   cc minimal_mpi.c $(pkg-config --cflags --libs syncbn-mpi) -o minimal_mpi
 *   mpiexec -n 2 ./minimal_mpi
 *
 * Channel 0 holds 1, 2, 3 and channel 1 holds 10, 20, 60: over the whole batch
 * their means are 2 and 30. Each rank alone would have found others.
 */
#include <stdio.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <syncbn.h>
#include <syncbn-mpi.h>

/* OpenCL's codes and the library's never meet, so one check serves both. */
static void check(int status, const char *doing)
{
    if (status == SBN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s %s\n", doing, sbn_strerror(status), sbn_last_error());
    /* After a timeout MPI_Finalize might wait for ever; this ends all ranks, always. */
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static cl_mem buffer(cl_context context, size_t floats, float *from)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0);
    cl_int status;
    cl_mem memory = clCreateBuffer(context, flags, floats * sizeof(float), from, &status);

    check(status, "making a buffer");
    return memory;
}

int main(int argc, char **argv)
{
    /* (N, C): a row per sample. */
    float x[3][4] = {{1, 10, 2, 20}, {3, 60}}, y[4], weight[] = {1, 1}, bias[] = {0, 0};
    const size_t samples[] = {2, 1, 0};
    float mean[2], var[2];
    cl_platform_id platforms[16];
    cl_uint platform_count;
    cl_device_id device = NULL;
    cl_context context;
    cl_command_queue queue;
    sbn_shard shard = SBN_SHARD_INIT;
    sbn_group_config group_config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    sbn_mpi *mpi;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    cl_int status;
    int level, rank, part;

    /* FUNNELED, because OpenCL drivers have threads of their own. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    part = rank < 2 ? rank : 2;

    /* The first device of the first platform that has one; several ranks may share it. */
    check(clGetPlatformIDs(16, platforms, &platform_count), "finding a platform");
    status = CL_DEVICE_NOT_FOUND;
    for (cl_uint p = 0; p < platform_count && p < 16 && status != CL_SUCCESS; ++p)
        status = clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    check(status, "finding a device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "making a context");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "making a queue");

    shard.dims = 2;
    shard.shape[0] = samples[part];
    shard.shape[1] = 2;
    shard.x.mem = buffer(context, 4, x[part]);
    shard.y.mem = buffer(context, 4, NULL);
    shard.weight.mem = buffer(context, 2, weight);
    shard.bias.mem = buffer(context, 2, bias);

    /* All that differs from one process: the group has a transport. */
    check(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "making a transport");
    check(sbn_mpi_transport(mpi, &transport), "asking for its table");
    group_config.transport = &transport;
    group_config.queues = &queue;
    group_config.replicas = 1;
    check(sbn_group_create(&group_config, &group), "making a group");
    config.channels = 2;
    check(sbn_batchnorm_create(group, &config, &layer), "making a layer");
    check(sbn_saved_create(layer, &saved), "making room for statistics");

    check(sbn_forward(layer, &shard, saved, 0, NULL), "forward");

    check(sbn_saved_stats(saved, mean, var, NULL), "reading the statistics");
    check(clEnqueueReadBuffer(queue, shard.y.mem, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL),
          "reading the output");
    printf("rank %d: mean %g %g  variance %g %g\n", rank, mean[0], mean[1], var[0], var[1]);
    for (size_t n = 0; n < samples[part]; ++n)
        printf("rank %d: %8.5f %8.5f\n", rank, y[2 * n], y[2 * n + 1]);

    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    check(sbn_mpi_destroy(mpi), "ending the transport");
    clReleaseMemObject(shard.x.mem);
    clReleaseMemObject(shard.y.mem);
    clReleaseMemObject(shard.weight.mem);
    clReleaseMemObject(shard.bias.mem);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    MPI_Finalize();
    return 0;
}
