/*
 * The host's queue: every call that makes it fails once; then it is the same one in all threads, and
 * a program that calls no OpenCL trains on it.
 */
#include <pthread.h>

#include "support/fixture.h"
#include "support/wraps.h"

enum { SAMPLES = 2, CHANNELS = 3, PLANE = 4, ELEMENTS = SAMPLES * CHANNELS * PLANE };

static void check_failures(void)
{
    const cl_device_type custom = CL_DEVICE_TYPE_CUSTOM;
    cl_command_queue queue = (cl_command_queue)&queue;
    int failed = 0, told = 0, status = 1;
    wraps_device_says(CL_DEVICE_TYPE, &custom, sizeof custom);
    expect(sbn_host_queue(&queue), SBN_UNSUPPORTED_DEVICE,
           "OpenCL: expected a driver for this machine's CPU, got a custom device",
           "a CPU that cannot run the kernels");
    wraps_device_says(CL_DEVICE_TYPE, NULL, 0);
    for (int n = 1; status; ++n) {
        wraps_fail(WRAP_EVERY, n);
        status = sbn_host_queue(&queue);
        wraps_fail(WRAP_EVERY, 0);
        failed += status != SBN_SUCCESS;
        told += status && !queue && sbn_last_error()[0];
    }
    tap_ok(failed >= 8 && told == failed, "%d failures, %d are told", failed, told);
    tap_ok(queue != NULL && !sbn_last_error()[0], "then there is a queue");
    expect(sbn_host_queue(NULL), SBN_INVALID_ARGUMENT, "queue: expected a place", "no place");
}

static void *ask(void *answer)
{
    must(sbn_host_queue(answer), "sbn_host_queue");
    return NULL;
}

static void check_threads(void)
{
    cl_command_queue own, others[4];
    cl_context context;
    cl_uint owners = 0;
    pthread_t threads[4];
    int same = 1;
    ask(&own);
    for (int i = 0; i < 4; ++i)
        must(pthread_create(&threads[i], NULL, ask, &others[i]), "pthread_create");
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
        same = same && others[i] == own;
    }
    tap_ok(same && !sbn_last_error()[0], "it is the same in all threads");
    must(clGetCommandQueueInfo(own, CL_QUEUE_CONTEXT, sizeof context, &context, NULL), "context");
    clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof owners, &owners, NULL);
    tap_ok(owners == 1, "%u owners of its context, the queue", owners);
}

/* x is 0 and 2 in turns: y is -1 and 1. */
static void check_training(void)
{
    float x[ELEMENTS], y[ELEMENTS], mean[CHANNELS];
    const sbn_shard shard = SHARD_WITH(.dims = 3, .shape = {SAMPLES, CHANNELS, PLANE},
                                       .memory = SBN_MEMORY_HOST, .x = SBN_HOST_BUFFER(x),
                                       .y = SBN_HOST_BUFFER(y));
    cl_command_queue queue;
    must(sbn_host_queue(&queue), "sbn_host_queue");
    const life l = LIVE_WITH(fixture_rank(&queue, 1, NULL), .channels = CHANNELS, .affine = OFF,
                             .eps = OFF);
    for (int i = 0; i < ELEMENTS; ++i)
        x[i] = i % 2 ? 2.0f : 0.0f;
    expect(sbn_forward(l.layer, &shard, l.saved, 0, NULL), SBN_SUCCESS, "", "forward");
    int right = 1;
    for (int i = 0; i < ELEMENTS; ++i)
        right = right && y[i] == x[i] - 1.0f;
    must(sbn_saved_stats(l.saved, mean, NULL, NULL), "sbn_saved_stats");
    tap_ok(right && mean[0] == 1.0f, "y is there when forward returns");
    fixture_die(&l);
}

int main(void)
{
    fixture device;
    if (fixture_open(&device))
        return fixture_missing();
    fixture_close(&device);
    check_failures();
    check_threads();
    check_training();
    return tap_done();
}
