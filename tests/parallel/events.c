/*
 * The order of exchanges and other commands: those in the caller's queue when an exchange begins
 * run first, in order or by the wait list; those after its end run later, or wait for its event;
 * those enqueued in between run beside it.
 */
#include "support/fixture.h"

enum { REPLICAS = 2, COUNT = 5000 };

static fixture device;
static float before[REPLICAS][COUNT], after[REPLICAS][COUNT], got[COUNT], copied[COUNT];

typedef struct replica {
    cl_command_queue queue;
    cl_mem mem, copy;
    sbn_buffer buffer;
    cl_event written, event;
} replica;

static replica replicas[REPLICAS];
static sbn_group *group;
static sbn_data_parallel *parallel;

static void open_replicas(int out_of_order)
{
    cl_command_queue queues[REPLICAS];
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    for (int r = 0; r < REPLICAS; ++r) {
        cl_int code;
        queues[r] = fixture_queue(&device, out_of_order);
        replicas[r] = (replica){.queue = queues[r]};
        replicas[r].mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                         sizeof before[r], before[r], &code);
        must(code, "clCreateBuffer");
        replicas[r].copy = clCreateBuffer(device.context, CL_MEM_READ_WRITE, sizeof before[r], NULL,
                                          &code);
        must(code, "clCreateBuffer");
        replicas[r].buffer.mem = replicas[r].mem;
    }
    config.queues = queues;
    config.replicas = REPLICAS;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    must(sbn_data_parallel_create(group, NULL, &parallel), "sbn_data_parallel_create");
}

static void close_replicas(void)
{
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
    for (int r = 0; r < REPLICAS; ++r) {
        clReleaseEvent(replicas[r].written);
        clReleaseEvent(replicas[r].event);
        clReleaseMemObject(replicas[r].mem);
        clReleaseMemObject(replicas[r].copy);
        clReleaseCommandQueue(replicas[r].queue);
    }
}

/* Does progress find nothing to do for a while? */
static int stays(sbn_exchange *exchange)
{
    int ready = 0;
    for (int i = 0; i < 1000 && !ready; ++i)
        must(sbn_exchange_progress(exchange, &ready), "sbn_exchange_progress");
    return !ready;
}

/* A gate holds the values that are to be averaged back. */
static void check_average(int out_of_order)
{
    const char *kind = out_of_order ? "out of order" : "in order";
    const size_t count = COUNT;
    sbn_tensors tensors[REPLICAS];
    sbn_exchange *exchange;
    cl_int code;
    int odd = 0;
    open_replicas(out_of_order);
    cl_event gate = clCreateUserEvent(device.context, &code);
    must(code, "clCreateUserEvent");
    for (int r = 0; r < REPLICAS; ++r) {
        replica *its = &replicas[r];
        must(clEnqueueWriteBuffer(its->queue, its->mem, CL_FALSE, 0, sizeof after[r], after[r], 1,
                                  &gate, &its->written),
             "clEnqueueWriteBuffer");
        tensors[r] = (sbn_tensors){.size = sizeof(sbn_tensors),
                                   .buffers = &its->buffer,
                                   .event = &its->event};
        if (out_of_order) {
            tensors[r].num_wait = 1;
            tensors[r].wait_list = &its->written;
        }
    }
    must(sbn_average_gradients_begin(parallel, &count, 1, tensors, &exchange), "begin");
    tap_ok(stays(exchange), "%s: averaging waits for what comes before it", kind);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(sbn_exchange_end(exchange), "end");
    for (int r = 0; r < REPLICAS; ++r) {
        const replica *its = &replicas[r];
        must(clEnqueueReadBuffer(its->queue, its->mem, CL_TRUE, 0, sizeof got, got,
                                 out_of_order ? 1 : 0, out_of_order ? &its->event : NULL, NULL),
             "clEnqueueReadBuffer");
        for (int i = 0; i < COUNT; ++i)
            odd += got[i] != (after[0][i] + after[1][i]) / 2;
    }
    tap_ok(!odd, "%s: what comes after it reads the mean: %d wrong", kind, odd);
    clReleaseEvent(gate);
    close_replicas();
}

/* A gate holds back who still reads a tensor that a broadcast is to replace. */
static void check_broadcast(int out_of_order)
{
    const char *kind = out_of_order ? "out of order" : "in order";
    const size_t count = COUNT;
    sbn_tensors tensors[REPLICAS];
    sbn_exchange *exchange;
    cl_int code;
    int odd = 0;
    open_replicas(out_of_order);
    cl_event gate = clCreateUserEvent(device.context, &code);
    must(code, "clCreateUserEvent");
    for (int r = 0; r < REPLICAS; ++r) {
        replica *its = &replicas[r];
        must(clEnqueueCopyBuffer(its->queue, its->mem, its->copy, 0, 0, sizeof got, 1, &gate,
                                 &its->written),
             "clEnqueueCopyBuffer");
        tensors[r] = (sbn_tensors){.size = sizeof(sbn_tensors),
                                   .buffers = &its->buffer,
                                   .event = &its->event};
        if (out_of_order) {
            tensors[r].num_wait = 1;
            tensors[r].wait_list = &its->written;
        }
    }
    must(sbn_broadcast_begin(parallel, &count, 1, 1, tensors, &exchange), "begin");
    tap_ok(stays(exchange), "%s: a broadcast waits for what comes before it", kind);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(sbn_exchange_end(exchange), "end");
    for (int r = 0; r < REPLICAS; ++r) {
        const replica *its = &replicas[r];
        must(clEnqueueReadBuffer(its->queue, its->copy, CL_TRUE, 0, sizeof copied, copied, 1,
                                 &its->event, NULL),
             "clEnqueueReadBuffer");
        must(clEnqueueReadBuffer(its->queue, its->mem, CL_TRUE, 0, sizeof got, got, 1, &its->event,
                                 NULL),
             "clEnqueueReadBuffer");
        for (int i = 0; i < COUNT; ++i)
            odd += copied[i] != before[r][i] || got[i] != before[1][i];
    }
    tap_ok(!odd, "%s: earlier commands read the old values: %d wrong", kind, odd);
    clReleaseEvent(gate);
    close_replicas();
}

/* Commands enqueued after begin neither wait for the exchange nor delay it. */
static void check_beside(void)
{
    const size_t count = COUNT;
    sbn_tensors tensors[REPLICAS];
    sbn_exchange *exchange;
    cl_event gates[REPLICAS];
    cl_int code;
    int ready = 0;
    open_replicas(0);
    for (int r = 0; r < REPLICAS; ++r)
        tensors[r] = (sbn_tensors){.size = sizeof(sbn_tensors),
                                   .buffers = &replicas[r].buffer,
                                   .event = &replicas[r].event};
    must(sbn_average_gradients_begin(parallel, &count, 1, tensors, &exchange), "begin");
    for (int r = 0; r < REPLICAS; ++r) {
        gates[r] = clCreateUserEvent(device.context, &code);
        must(code, "clCreateUserEvent");
        must(clEnqueueMarkerWithWaitList(replicas[r].queue, 1, &gates[r], &replicas[r].written),
             "clEnqueueMarkerWithWaitList");
    }
    for (long i = 0; i < 100000000 && !ready; ++i)
        must(sbn_exchange_progress(exchange, &ready), "sbn_exchange_progress");
    tap_ok(ready, "an averaging comes to its end while the queues are held");
    for (int r = 0; r < REPLICAS; ++r) {
        must(clSetUserEventStatus(gates[r], CL_COMPLETE), "clSetUserEventStatus");
        clReleaseEvent(gates[r]);
    }
    must(sbn_exchange_end(exchange), "end");
    for (int r = 0; r < REPLICAS; ++r)
        must(clFinish(replicas[r].queue), "clFinish");
    close_replicas();
}

static void checks(void)
{
    for (int r = 0; r < REPLICAS; ++r)
        for (int i = 0; i < COUNT; ++i) {
            before[r][i] = (float)(1000 * r + i % 97);
            after[r][i] = (float)(i % 1009) + (float)r;
        }
    for (int out_of_order = 0; out_of_order < 2; ++out_of_order) {
        check_average(out_of_order);
        check_broadcast(out_of_order);
    }
    check_beside();
}

int main(void)
{
    return fixture_main(&device, NULL, checks);
}
