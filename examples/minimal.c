/*
 * The shortest complete program: a batch of three samples, two on one replica
 * and one on another, normalised as one batch, forward and backward.
 *
 *   cc minimal.c $(pkg-config --cflags --libs syncbn) -o minimal
 *
 * Channel 0 holds 1, 2, 3 and channel 1 holds 10, 20, 60: over the whole batch
 * their means are 2 and 30. Each replica alone would have found others.
 */
#include <stdio.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <syncbn.h>

/* OpenCL's codes and the library's never meet, so one check serves both. */
static void check(int status, const char *doing)
{
    if (status == SBN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s %s\n", doing, sbn_strerror(status), sbn_last_error());
    exit(1);
}

static cl_mem buffer(cl_context context, size_t floats, float *from)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0);
    cl_int status;
    cl_mem memory = clCreateBuffer(context, flags, floats * sizeof(float), from, &status);

    check(status, "making a buffer");
    return memory;
}

int main(void)
{
    /* (N, C): a row per sample. */
    float x[2][4] = {{1, 10, 2, 20}, {3, 60}}, dy[2][4] = {{1, 0, 0, 0}, {0, 1}};
    float weight[] = {1, 1}, bias[] = {0, 0}, y[4], dx[4];
    const size_t samples[] = {2, 1};
    float mean[2], var[2];
    cl_platform_id platforms[16];
    cl_uint platform_count;
    cl_device_id device = NULL;
    cl_context context;
    cl_command_queue queues[2];
    sbn_shard shards[2] = {SBN_SHARD_INIT, SBN_SHARD_INIT};
    sbn_group_config group_config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    cl_int status;

    /* The first device of the first platform that has one. */
    check(clGetPlatformIDs(16, platforms, &platform_count), "finding a platform");
    status = CL_DEVICE_NOT_FOUND;
    for (cl_uint p = 0; p < platform_count && p < 16 && status != CL_SUCCESS; ++p)
        status = clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    check(status, "finding a device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "making a context");

    /* Here both replicas are on one device; queues of other devices would do as well. */
    for (int r = 0; r < 2; ++r) {
        queues[r] = clCreateCommandQueue(context, device, 0, &status);
        check(status, "making a queue");
        shards[r].dims = 2;
        shards[r].shape[0] = samples[r];
        shards[r].shape[1] = 2;
        shards[r].x.mem = buffer(context, 2 * samples[r], x[r]);
        shards[r].y.mem = buffer(context, 2 * samples[r], NULL);
        shards[r].dy.mem = buffer(context, 2 * samples[r], dy[r]);
        shards[r].dx.mem = buffer(context, 2 * samples[r], NULL);
        shards[r].weight.mem = buffer(context, 2, weight);
        shards[r].bias.mem = buffer(context, 2, bias);
        shards[r].weight_grad.mem = buffer(context, 2, NULL);
        shards[r].bias_grad.mem = buffer(context, 2, NULL);
    }

    group_config.queues = queues;
    group_config.replicas = 2;
    check(sbn_group_create(&group_config, &group), "making a group");
    config.channels = 2;
    check(sbn_batchnorm_create(group, &config, &layer), "making a layer");
    check(sbn_saved_create(layer, &saved), "making room for statistics");

    check(sbn_forward(layer, shards, saved, 0, NULL), "forward");
    /* weight_grad and bias_grad: sums over the whole batch, the same for both replicas. */
    check(sbn_backward(layer, shards, saved, SBN_GLOBAL_GRADIENTS, NULL), "backward");

    check(sbn_saved_stats(saved, mean, var, NULL), "reading the statistics");
    printf("mean %g %g  variance %g %g\n", mean[0], mean[1], var[0], var[1]);
    for (int r = 0; r < 2; ++r) {
        check(clEnqueueReadBuffer(queues[r], shards[r].y.mem, CL_TRUE, 0,
                                  2 * samples[r] * sizeof(float), y, 0, NULL, NULL),
              "reading the output");
        check(clEnqueueReadBuffer(queues[r], shards[r].dx.mem, CL_TRUE, 0,
                                  2 * samples[r] * sizeof(float), dx, 0, NULL, NULL),
              "reading the gradient");
        for (size_t n = 0; n < samples[r]; ++n)
            printf("replica %d: y %8.5f %8.5f  dx %8.5f %8.5f\n", r, y[2 * n], y[2 * n + 1],
                   dx[2 * n], dx[2 * n + 1]);
    }

    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    for (int r = 0; r < 2; ++r) {
        clReleaseMemObject(shards[r].x.mem);
        clReleaseMemObject(shards[r].y.mem);
        clReleaseMemObject(shards[r].dy.mem);
        clReleaseMemObject(shards[r].dx.mem);
        clReleaseMemObject(shards[r].weight.mem);
        clReleaseMemObject(shards[r].bias.mem);
        clReleaseMemObject(shards[r].weight_grad.mem);
        clReleaseMemObject(shards[r].bias_grad.mem);
        clReleaseCommandQueue(queues[r]);
    }
    clReleaseContext(context);
    if (fflush(stdout) || ferror(stdout)) {
        perror("writing the results");
        return 1;
    }
    return 0;
}
