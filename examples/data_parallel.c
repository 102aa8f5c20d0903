/*
 * Data-parallel training with synchronised batch norm, step by step: one process
 * per device, or several devices in each. The network is as small as one can be,
 * a dense layer, batch norm and softmax; everything around it is what any other
 * needs. doc/walkthrough.md goes through it.
 *
 *   cc data_parallel.c $(pkg-config --cflags --libs syncbn-mpi) -o data_parallel
 *   mpiexec -n 4 ./data_parallel        4 ranks with a replica each
 *   mpiexec -n 2 ./data_parallel 2      2 ranks with 2 replicas each: the same bits
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <syncbn.h>
#include <syncbn-mpi.h>

enum { FEATURES = 64, CLASSES = 10, BATCH = 8, SAMPLES = 1000, EPOCHS = 3, MOST_REPLICAS = 16 };

/* Parameters lie in one buffer and gradients in another, with the loss behind them. */
enum { WEIGHTS = FEATURES * CLASSES, GAMMA = WEIGHTS, BETA = GAMMA + CLASSES };
enum { PARAMETERS = BETA + CLASSES, LOSS = PARAMETERS, GRADIENTS };
static const size_t counts[] = {WEIGHTS, CLASSES, CLASSES, 1};
enum { TENSORS = 3 }; /* the loss is averaged with the gradients, but is no parameter */

static const char source[] =
    "kernel void dense(global const float *x, global const float *p, global float *z) {\n"
    "    const size_t n = get_global_id(0) / 10, c = get_global_id(0) % 10;\n"
    "    float sum = 0;\n"
    "    for (int i = 0; i < 64; ++i) sum += x[64 * n + i] * p[10 * i + c];\n"
    "    z[10 * n + c] = sum;\n"
    "}\n"
    "kernel void softmax(global const float *y, global const int *labels, global float *dy,\n"
    "                    global float *losses) {\n"
    "    const size_t n = get_global_id(0);\n"
    "    float most = y[10 * n], sum = 0;\n"
    "    for (int c = 1; c < 10; ++c) most = fmax(most, y[10 * n + c]);\n"
    "    for (int c = 0; c < 10; ++c) sum += exp(y[10 * n + c] - most);\n"
    "    for (int c = 0; c < 10; ++c)\n"
    "        dy[10 * n + c] = (exp(y[10 * n + c] - most) / sum - (c == labels[n])) / 8;\n"
    "    losses[n] = log(sum) + most - y[10 * n + labels[n]];\n"
    "}\n"
    "kernel void gradient(global const float *x, global const float *dz,\n"
    "                     global const float *losses, global float *g) {\n"
    "    const size_t i = get_global_id(0) / 10, c = get_global_id(0) % 10;\n"
    "    float sum = 0;\n"
    "    if (i < 64) for (int n = 0; n < 8; ++n) sum += x[64 * n + i] * dz[10 * n + c];\n"
    "    else for (int n = 0; n < 8; ++n) sum += losses[n] / 8;\n"
    "    g[i < 64 ? 10 * i + c : 660] = sum;\n"
    "}\n"
    "kernel void update(global float *p, global const float *g) {\n"
    "    p[get_global_id(0)] -= 0.1f * g[get_global_id(0)];\n"
    "}\n";

enum { DENSE, SOFTMAX, GRADIENT, UPDATE, KERNELS };
static const char *const names[KERNELS] = {"dense", "softmax", "gradient", "update"};

/* One device's part: its buffers and kernels. */
struct replica {
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernels[KERNELS];
    cl_mem x, labels, z, y, dy, dz, losses, parameters, gradients;
};

/* OpenCL's codes and the library's never meet, so one check serves both. */
static void check(int status, const char *doing)
{
    if (status == SBN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s %s\n", doing, sbn_strerror(status), sbn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static cl_mem buffer(const struct replica *r, size_t values)
{
    cl_int status;
    cl_mem memory = clCreateBuffer(r->context, CL_MEM_READ_WRITE, values * sizeof(float), NULL,
                                   &status);
    check(status, "making a buffer");
    return memory;
}

static void run(const struct replica *r, int kernel, size_t items, size_t count,
                const cl_mem *arguments)
{
    for (size_t i = 0; i < count; ++i)
        check(clSetKernelArg(r->kernels[kernel], (cl_uint)i, sizeof(cl_mem), &arguments[i]),
              "setting an argument");
    check(clEnqueueNDRangeKernel(r->queue, r->kernels[kernel], 1, NULL, &items, NULL, 0, NULL,
                                 NULL),
          names[kernel]);
}

/* Step 2: this process's devices, by its rank on the host. */
static void open_replicas(struct replica *replicas, size_t count, size_t local_rank)
{
    cl_platform_id platforms[16];
    cl_device_id devices[64];
    cl_uint platform_count, device_count = 0;
    const char *text = source;
    cl_int status;

    check(clGetPlatformIDs(16, platforms, &platform_count), "finding a platform");
    for (cl_uint p = 0; p < platform_count && p < 16 && !device_count; ++p)
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 64, devices, &device_count))
            device_count = 0;
    device_count = device_count > 64 ? 64 : device_count; /* of all that there are */
    check(device_count ? CL_SUCCESS : CL_DEVICE_NOT_FOUND, "finding a device");
    for (size_t i = 0; i < count; ++i) {
        struct replica *r = &replicas[i];
        cl_device_id device = devices[(local_rank * count + i) % device_count];

        r->context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
        check(status, "making a context");
        r->queue = clCreateCommandQueue(r->context, device, 0, &status);
        check(status, "making a queue");
        cl_program program = clCreateProgramWithSource(r->context, 1, &text, NULL, &status);
        check(status, "making a program");
        check(clBuildProgram(program, 1, &device, "", NULL, NULL), "building the kernels");
        for (int k = 0; k < KERNELS; ++k) {
            r->kernels[k] = clCreateKernel(program, names[k], &status);
            check(status, names[k]);
        }
        clReleaseProgram(program);
        r->x = buffer(r, BATCH * FEATURES);
        r->labels = buffer(r, BATCH);
        r->z = buffer(r, BATCH * CLASSES);
        r->y = buffer(r, BATCH * CLASSES);
        r->dy = buffer(r, BATCH * CLASSES);
        r->dz = buffer(r, BATCH * CLASSES);
        r->losses = buffer(r, BATCH);
        r->parameters = buffer(r, PARAMETERS);
        r->gradients = buffer(r, GRADIENTS);
    }
}

static void close_replicas(struct replica *replicas, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        struct replica *r = &replicas[i];
        const cl_mem all[] = {r->x,  r->labels, r->z,          r->y,        r->dy,
                              r->dz, r->losses, r->parameters, r->gradients};

        for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
            clReleaseMemObject(all[k]);
        for (int k = 0; k < KERNELS; ++k)
            clReleaseKernel(r->kernels[k]);
        clReleaseCommandQueue(r->queue);
        clReleaseContext(r->context);
    }
}

/* -1 ... 1, from two numbers. */
static float noise(uint64_t a, uint64_t b)
{
    uint64_t z = (a << 20) + b + 1;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)((z ^ (z >> 31)) >> 40) * 0x1p-23f - 1;
}

/* The data set: a sample is its class's features under as much noise again. */
static void load(const struct replica *r, const uint64_t *samples)
{
    float x[BATCH * FEATURES];
    cl_int labels[BATCH];

    for (size_t n = 0; n < BATCH; ++n) {
        labels[n] = (cl_int)(samples[n] % CLASSES);
        for (size_t i = 0; i < FEATURES; ++i)
            x[n * FEATURES + i] = noise(1000000 + (uint64_t)labels[n], i) + noise(samples[n], i);
    }
    check(clEnqueueWriteBuffer(r->queue, r->x, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "loading");
    check(clEnqueueWriteBuffer(r->queue, r->labels, CL_TRUE, 0, sizeof labels, labels, 0, NULL,
                               NULL),
          "loading");
}

/* Every replica begins with other weights: the broadcast must make them the same. */
static void initialise(const struct replica *r, uint64_t seed)
{
    float p[PARAMETERS];

    for (size_t i = 0; i < PARAMETERS; ++i)
        p[i] = i < WEIGHTS ? 0.1f * noise(2000000 + seed, i) : i < BETA ? 1.0f : 0.0f;
    check(clEnqueueWriteBuffer(r->queue, r->parameters, CL_TRUE, 0, sizeof p, p, 0, NULL, NULL),
          "initialising");
}

/* FNV-1a over what was trained: the weights of one replica and the running statistics. */
static uint64_t digest(const struct replica *r, const sbn_batchnorm *layer)
{
    float all[PARAMETERS + 2 * CLASSES];
    const unsigned char *byte = (const unsigned char *)all;
    uint64_t hash = 0xcbf29ce484222325u;

    check(clEnqueueReadBuffer(r->queue, r->parameters, CL_TRUE, 0, PARAMETERS * sizeof *all, all, 0,
                              NULL, NULL),
          "reading the weights");
    check(sbn_batchnorm_running_stats(layer, all + PARAMETERS, all + PARAMETERS + CLASSES, NULL),
          "reading the statistics");
    for (size_t i = 0; i < sizeof all; ++i)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

int main(int argc, char **argv)
{
    struct replica replicas[MOST_REPLICAS] = {{0}};
    cl_command_queue queues[MOST_REPLICAS];
    sbn_shard shards[MOST_REPLICAS] = {{0}};
    sbn_buffer weights[MOST_REPLICAS][TENSORS], gradients[MOST_REPLICAS][TENSORS + 1];
    sbn_tensors all_weights[MOST_REPLICAS] = {{0}}, all_gradients[MOST_REPLICAS] = {{0}};
    const size_t count = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    int level, rank, local_rank;
    MPI_Comm host;

    /* Step 1: the launcher gives each process its rank. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local_rank);
    MPI_Comm_free(&host);
    check(count > 0 && count <= MOST_REPLICAS ? SBN_SUCCESS : SBN_INVALID_ARGUMENT,
          "the number of replicas");

    /* Step 2: the devices, and the group of all of them. */
    open_replicas(replicas, count, (size_t)local_rank);
    for (size_t i = 0; i < count; ++i)
        queues[i] = replicas[i].queue;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *local, *group;
    sbn_mpi *mpi;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    config.queues = queues;
    config.replicas = count;
    check(sbn_group_create(&config, &local), "making the local group");
    check(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "making a transport");
    check(sbn_mpi_transport(mpi, &transport), "asking for its table");
    config.transport = &transport;
    check(sbn_group_create(&config, &group), "making the group");

    /* Step 3: a model with local batch norm is converted. */
    sbn_batchnorm_config layer_config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    layer_config.channels = CLASSES;
    check(sbn_batchnorm_create(local, &layer_config, &layer), "making a layer");
    check(sbn_batchnorm_set_group(layer, group), "converting it");
    check(sbn_saved_create(layer, &saved), "making room for its statistics");

    /* Step 4: the same weights everywhere, and gradients to be averaged. */
    sbn_data_parallel *parallel;
    check(sbn_data_parallel_create(group, NULL, &parallel), "joining the replicas");
    const size_t first = sbn_data_parallel_first(parallel);
    for (size_t i = 0; i < count; ++i) {
        const struct replica *r = &replicas[i];
        size_t at = 0;

        initialise(r, first + i);
        for (int t = 0; t <= TENSORS; at += counts[t++]) {
            if (t < TENSORS)
                weights[i][t] = (sbn_buffer){r->parameters, at};
            gradients[i][t] = (sbn_buffer){r->gradients, at};
        }
        all_weights[i] = (sbn_tensors){.size = sizeof(sbn_tensors), .buffers = weights[i]};
        all_gradients[i] = (sbn_tensors){.size = sizeof(sbn_tensors), .buffers = gradients[i]};
        shards[i] = (sbn_shard){.size = sizeof(sbn_shard),
                                .dims = 2,
                                .shape = {BATCH, CLASSES},
                                .x = {r->z, 0},
                                .y = {r->y, 0},
                                .dy = {r->dy, 0},
                                .dx = {r->dz, 0},
                                .weight = weights[i][1],
                                .bias = weights[i][2],
                                .weight_grad = gradients[i][1],
                                .bias_grad = gradients[i][2]};
    }
    check(sbn_broadcast(parallel, counts, TENSORS, 0, all_weights), "sharing the weights");

    /* Step 5: each replica its own samples. */
    uint64_t length, samples[BATCH];
    sbn_sampler sampler = SBN_SAMPLER_INIT;
    sampler.samples = SAMPLES;
    sampler.replicas = sbn_data_parallel_replicas(parallel);
    sampler.drop_last = 1;
    check(sbn_sampler_length(&sampler, &length), "dealing out the samples");

    for (sampler.epoch = 0; sampler.epoch < EPOCHS; ++sampler.epoch) {
        float loss, sum = 0;

        for (uint64_t step = 0; step < length / BATCH; ++step) {
            for (size_t i = 0; i < count; ++i) {
                const struct replica *r = &replicas[i];

                sampler.replica = first + i;
                check(sbn_sampler_take(&sampler, step * BATCH, BATCH, samples), "taking samples");
                load(r, samples);
                run(r, DENSE, BATCH * CLASSES, 3, (cl_mem[]){r->x, r->parameters, r->z});
            }
            check(sbn_forward(layer, shards, saved, 0, NULL), "forward");
            for (size_t i = 0; i < count; ++i) {
                const struct replica *r = &replicas[i];

                run(r, SOFTMAX, BATCH, 4, (cl_mem[]){r->y, r->labels, r->dy, r->losses});
            }
            check(sbn_backward(layer, shards, saved, 0, NULL), "backward");
            for (size_t i = 0; i < count; ++i) {
                const struct replica *r = &replicas[i];

                run(r, GRADIENT, WEIGHTS + 1, 4, (cl_mem[]){r->x, r->dz, r->losses, r->gradients});
            }
            check(sbn_average_gradients(parallel, counts, TENSORS + 1, all_gradients), "averaging");
            for (size_t i = 0; i < count; ++i)
                run(&replicas[i], UPDATE, PARAMETERS, 2,
                    (cl_mem[]){replicas[i].parameters, replicas[i].gradients});
            check(clEnqueueReadBuffer(queues[0], replicas[0].gradients, CL_TRUE, LOSS * sizeof loss,
                                      sizeof loss, &loss, 0, NULL, NULL),
                  "reading the loss");
            sum += loss;
        }
        if (rank == 0)
            printf("epoch %" PRIu64 ": loss %.6f\n", sampler.epoch, sum / (float)(length / BATCH));
    }

    /* Every replica has trained the same network. */
    uint64_t ends[2] = {digest(&replicas[0], layer)};
    ends[1] = ~ends[0];
    for (size_t i = 1; i < count; ++i)
        if (digest(&replicas[i], layer) != ~ends[1])
            ends[0] = 0;
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%zu replicas, parameters %016" PRIx64 "%s\n", sbn_data_parallel_replicas(parallel),
               ends[0], ends[0] == ~ends[1] ? "" : ": NOT the same on all");

    sbn_data_parallel_destroy(parallel);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    sbn_group_destroy(local);
    check(sbn_mpi_destroy(mpi), "ending the transport");
    close_replicas(replicas, count);
    MPI_Finalize();
    return ends[0] != ~ends[1];
}
