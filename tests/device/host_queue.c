/*
 * The host's queue: every call that makes it fails once; then it is the same one in all threads. Training on
 * it: tests/python.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/wraps.h"

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
    expect(WITH_FAILURE(WRAP_DEVICE_IDS, 1, sbn_host_queue(&queue)), SBN_UNSUPPORTED_DEVICE,
           "got PoCL, which shows no device: it needs a home directory|, or POCL_CACHE_DIR",
           "PoCL without a folder to write to");
    for (int n = 1; status; ++n) {
        status = WITH_FAILURE(WRAP_EVERY, n, sbn_host_queue(&queue));
        failed += status != SBN_SUCCESS;
        told += status && !queue && sbn_last_error()[0];
    }
    tap_ok(failed >= 8 && told == failed, "%d failures, %d are told", failed, told);
    tap_ok(queue != NULL && !sbn_last_error()[0], "then there is a queue");
    expect(sbn_host_queue(NULL), SBN_INVALID_ARGUMENT, "queue: expected a place", "no place");
}

static pthread_barrier_t start;

static void *ask(void *answer)
{
    pthread_barrier_wait(&start);
    sbn_host_queue(answer);
    return NULL;
}

/* What four threads get that ask at once, or NULL if it is not the same. */
static cl_command_queue asked_at_once(void)
{
    cl_command_queue queues[4];
    pthread_t threads[4];
    int same = 1;
    pthread_barrier_init(&start, NULL, 4);
    for (int i = 0; i < 4; ++i)
        must(pthread_create(&threads[i], NULL, ask, &queues[i]), "pthread_create");
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
        same = same && queues[i] == queues[0];
    }
    return same ? queues[0] : NULL;
}

/* first: what a process has returned whose threads were the first to ask. */
static void check_threads(int first)
{
    cl_context context;
    cl_uint owners = 0;
    const cl_command_queue own = asked_at_once();
    tap_ok(own && !first, "it is the same in all threads, also of those that make it");
    must(clGetCommandQueueInfo(own, CL_QUEUE_CONTEXT, sizeof context, &context, NULL), "context");
    clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof owners, &owners, NULL);
    tap_ok(owners == 1, "%u owners of its context, the queue", owners);
}

int main(void)
{
    fixture device;
    int first = 1;
    const pid_t child = fork();
    must(child < 0, "fork");
    if (child == 0)
        _exit(!asked_at_once());
    must(waitpid(child, &first, 0) - child, "waitpid");
    if (fixture_open(&device))
        return fixture_missing();
    fixture_close(&device);
    check_failures();
    check_threads(first);
    return tap_done();
}
