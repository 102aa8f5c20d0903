/*
 * Waiting at batch norm alone: two steps of one layer and of other work that does not depend on it,
 * over a transport that is slow. Both steps begin a forward pass and end it. In the first, the end
 * follows at once, and the other work comes behind it. In the second, the other work is enqueued
 * between the two: the words travel while the device works. (sbn_forward waits for one trip of the
 * words and not for two, once its calls repeat: doc/mpi.md.)
 *
 *   timeline [milliseconds of the transport, 20 unless given]
 *
 * The transport is one of the program's own (syncbn/transport.h): it pretends that there is a second
 * rank with the very same batch, whose words arrive after that time. That is all that a transport is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <syncbn.h>

enum { SAMPLES = 4, CHANNELS = 32, PLANE = 56 * 56, VALUES = SAMPLES * CHANNELS * PLANE };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static void must(int status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "timeline: %s: %s: %s\n", what, sbn_strerror(status), sbn_last_error());
    exit(1);
}

/* --- the slow transport -------------------------------------------------------- */

static double latency = 20;

struct request {
    double due;
    int64_t *words;
    size_t count;
};

static int start(void *context, int stream, int64_t *words, size_t count, void **request)
{
    struct request *made = malloc(sizeof *made);
    (void)context, (void)stream;
    if (!made)
        return -1;
    *made = (struct request){now() + latency, words, count};
    *request = made;
    return 0;
}

static int test(void *context, void *request, int *done)
{
    struct request *r = request;
    (void)context;
    *done = now() >= r->due;
    if (!*done)
        return 0;
    for (size_t i = 0; i < r->count; ++i)
        r->words[i] *= 2;
    free(r);
    return 0;
}

/* --- the timeline ----------------------------------------------------------------- */

static double begun;

static void say(double from, double to, const char *what)
{
    enum { WIDTH = 60 };
    const double span = 5 * latency;
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; ++i) {
        const double at = (i + 0.5) * span / WIDTH;
        bar[i] = at >= from && at < to ? '=' : ' ';
    }
    bar[WIDTH] = '\0';
    printf("  %-22s %7.1f ... %7.1f ms  |%s|\n", what, from, to, bar);
}

/* --- the device -------------------------------------------------------------------- */

/* The other work: enough arithmetic to take a while. */
static const char source[] = "kernel void work(global float *x, int rounds) {\n"
                             "    float a = x[get_global_id(0)];\n"
                             "    for (int i = 0; i < rounds; ++i)\n"
                             "        a = fma(a, 0.999f, 0.001f);\n"
                             "    x[get_global_id(0)] = a;\n"
                             "}\n";

struct bench {
    cl_command_queue queue;
    cl_kernel work;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    sbn_shard shard;
};

static cl_event enqueue_work(const struct bench *b)
{
    const size_t items = 1 << 16;
    cl_event event;
    must(clEnqueueNDRangeKernel(b->queue, b->work, 1, NULL, &items, NULL, 0, NULL, &event),
         "the other work");
    must(clFlush(b->queue), "clFlush");
    return event;
}

static const char *state_of(cl_event event)
{
    cl_int state;
    must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
         "clGetEventInfo");
    return state == CL_COMPLETE ? "done" : state == CL_RUNNING ? "running" : "waiting";
}

static void wait_for(cl_event event)
{
    must(clWaitForEvents(1, &event), "clWaitForEvents");
    clReleaseEvent(event);
}

/* Returns how long the step took. */
static double step(const struct bench *b, int two_phases)
{
    sbn_pass *pass;
    cl_event work = NULL;
    begun = now();
    must(sbn_forward_begin(b->layer, &b->shard, b->saved, 0, &pass), "begin");
    if (two_phases)
        work = enqueue_work(b);
    const double enqueued = now() - begun;
    must(sbn_pass_end(pass, NULL), "end");
    const double ended = now() - begun;
    const char *state = two_phases ? state_of(work) : "not enqueued yet";
    if (!two_phases)
        work = enqueue_work(b);
    wait_for(work);
    must(clFinish(b->queue), "clFinish");
    const double all = now() - begun;
    say(enqueued, ended, "the pass is waited for");
    say(two_phases ? enqueued : ended, all, "other work, and y");
    printf("  When the words had come, the other work was %s.\n", state);
    return all;
}

static cl_mem buffer(cl_context context, size_t values)
{
    cl_int code;
    float *zeros = calloc(values, sizeof *zeros);
    if (!zeros)
        exit(1);
    for (size_t i = 0; i < values; ++i)
        zeros[i] = (float)(i % 17);
    cl_mem made = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, values * sizeof *zeros, zeros,
                                 &code);
    must(code, "clCreateBuffer");
    free(zeros);
    return made;
}

int main(int argc, char **argv)
{
    cl_platform_id platforms[16];
    cl_uint platform_count;
    cl_device_id device = NULL;
    cl_int code;
    struct bench b = {0};
    char none[] = "", *end = none;
    if (argc > 1)
        latency = strtod(argv[1], &end);
    if (argc > 2 || *end || !(latency > 0 && latency <= 60000)) {
        fprintf(stderr, "usage: timeline [MILLISECONDS], above 0, at most 60000\n");
        return 2;
    }
    must(clGetPlatformIDs(16, platforms, &platform_count), "clGetPlatformIDs");
    /* The first device of the first platform that has one. */
    code = CL_DEVICE_NOT_FOUND;
    for (cl_uint p = 0; p < platform_count && p < 16 && code != CL_SUCCESS; ++p)
        code = clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    must(code, "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    b.queue = clCreateCommandQueue(context, device, 0, &code);
    must(code, "clCreateCommandQueue");

    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(code, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    b.work = clCreateKernel(program, "work", &code);
    must(code, "clCreateKernel");
    cl_mem scratch = buffer(context, 1 << 16);
    cl_int rounds = 1 << 10;
    must(clSetKernelArg(b.work, 0, sizeof scratch, &scratch), "clSetKernelArg");

    const sbn_transport transport = {.size = sizeof transport,
                                     .world_size = 2,
                                     .start = start,
                                     .test = test};
    sbn_group_config group_config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group;
    group_config.queues = &b.queue;
    group_config.replicas = 1;
    group_config.transport = &transport;
    must(sbn_group_create(&group_config, &group), "sbn_group_create");
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = CHANNELS;
    must(sbn_batchnorm_create(group, &config, &b.layer), "sbn_batchnorm_create");
    must(sbn_saved_create(b.layer, &b.saved), "sbn_saved_create");
    b.shard =
        (sbn_shard){.size = sizeof(sbn_shard), .dims = 3, .shape = {SAMPLES, CHANNELS, PLANE}};
    b.shard.x.mem = buffer(context, VALUES);
    b.shard.y.mem = buffer(context, VALUES);
    b.shard.weight.mem = buffer(context, CHANNELS);
    b.shard.bias.mem = buffer(context, CHANNELS);

    /* As long as the words travel, header and sums one behind the other. */
    must(sbn_forward(b.layer, &b.shard, b.saved, 0, NULL), "a first pass");
    double took = 0;
    while (took < 1.5 * latency && rounds < 1 << 24) {
        rounds *= 2;
        must(clSetKernelArg(b.work, 1, sizeof rounds, &rounds), "clSetKernelArg");
        begun = now();
        wait_for(enqueue_work(&b));
        took = now() - begun;
    }
    printf("The transport takes %.0f ms twice a pass, the other work %.1f ms.\n\nBegun and ended "
           "in a row:\n",
           latency, took);
    const double one = step(&b, 0);
    puts("\nBegun, other work enqueued, ended:");
    const double two = step(&b, 1);
    printf("\nThe step took %.1f ms in a row and %.1f ms with the work between: %.1f ms were "
           "hidden.\n",
           one, two, one - two);

    const cl_mem all[] = {b.shard.x.mem, b.shard.y.mem, b.shard.weight.mem, b.shard.bias.mem,
                          scratch};
    sbn_saved_destroy(b.saved);
    sbn_batchnorm_destroy(b.layer);
    sbn_group_destroy(group);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        clReleaseMemObject(all[i]);
    clReleaseKernel(b.work);
    clReleaseProgram(program);
    clReleaseCommandQueue(b.queue);
    clReleaseContext(context);
    if (fflush(stdout) || ferror(stdout)) {
        perror("timeline: writing the results");
        return 1;
    }
    return 0;
}
