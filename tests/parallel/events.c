/*
 * The order of exchanges and other commands: those in the caller's queue when an exchange begins
 * run first, and those of another queue by the wait list; those after its end run later, or wait
 * for its event; those enqueued in between run beside it.
 */
#include "support/main.h"

enum { REPLICAS = 2, COUNT = 5000 };

static float before[REPLICAS][COUNT], after[REPLICAS][COUNT], got[COUNT], copied[COUNT];

typedef struct replica {
    cl_command_queue queue, other;
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
    for (int r = 0; r < REPLICAS; ++r) {
        queues[r] = fixture_queue(&device, out_of_order);
        replicas[r] = (replica){.queue = queues[r], .other = fixture_queue(&device, 0)};
        replicas[r].mem = fixture_buffer(&device, sizeof before[r], before[r]);
        replicas[r].copy = fixture_buffer(&device, sizeof before[r], NULL);
        replicas[r].buffer.mem = replicas[r].mem;
    }
    group = fixture_rank(queues, REPLICAS, NULL);
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
        clReleaseCommandQueue(replicas[r].other);
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

/*
 * A gate holds back what comes before an exchange: the values that are to be averaged, or who still
 * reads a tensor that a broadcast is to replace.
 */
static void check_order(int out_of_order, int average)
{
    const char *what = average ? "averaging" : "a broadcast";
    const char *kind = out_of_order ? "out of order" : "in order";
    const size_t count = COUNT;
    sbn_tensors tensors[REPLICAS];
    sbn_exchange *exchange;
    int odd = 0;
    open_replicas(out_of_order);
    cl_event gate = fixture_gate(&device);
    for (int r = 0; r < REPLICAS; ++r) {
        replica *its = &replicas[r];
        cl_command_queue on = out_of_order ? its->other : its->queue;
        must(average ? clEnqueueWriteBuffer(on, its->mem, CL_FALSE, 0, sizeof after[r], after[r], 1,
                                            &gate, &its->written)
                     : clEnqueueCopyBuffer(on, its->mem, its->copy, 0, 0, sizeof got, 1, &gate,
                                           &its->written),
             "a command before");
        must(clFlush(on), "clFlush");
        tensors[r] = (sbn_tensors){.size = sizeof(sbn_tensors),
                                   .buffers = &its->buffer,
                                   .num_wait = (cl_uint)out_of_order,
                                   .wait_list = &its->written,
                                   .event = &its->event};
    }
    must(average ? sbn_average_gradients_begin(parallel, &count, 1, tensors, &exchange)
                 : sbn_broadcast_begin(parallel, &count, 1, 1, tensors, &exchange),
         "begin");
    tap_ok(stays(exchange), "%s: %s waits for what comes before it", kind, what);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(sbn_exchange_end(exchange), "end");
    for (int r = 0; r < REPLICAS; ++r) {
        const replica *its = &replicas[r];
        const cl_uint waits = (cl_uint)out_of_order;
        const cl_event *event = out_of_order ? &its->event : NULL;
        must(clEnqueueReadBuffer(its->queue, its->mem, CL_TRUE, 0, sizeof got, got, waits, event,
                                 NULL),
             "clEnqueueReadBuffer");
        must(clEnqueueReadBuffer(its->queue, its->copy, CL_TRUE, 0, sizeof copied, copied, waits,
                                 event, NULL),
             "clEnqueueReadBuffer");
        for (int i = 0; i < COUNT; ++i)
            odd += average ? got[i] != (after[0][i] + after[1][i]) / 2
                           : copied[i] != before[r][i] || got[i] != before[1][i];
    }
    tap_ok(!odd, "%s: what comes before and after %s reads the right values: %d wrong", kind, what,
           odd);
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
    int ready = 0;
    open_replicas(0);
    for (int r = 0; r < REPLICAS; ++r)
        tensors[r] = (sbn_tensors){.size = sizeof(sbn_tensors),
                                   .buffers = &replicas[r].buffer,
                                   .event = &replicas[r].event};
    must(sbn_average_gradients_begin(parallel, &count, 1, tensors, &exchange), "begin");
    for (int r = 0; r < REPLICAS; ++r) {
        gates[r] = fixture_gate(&device);
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

void checks(void)
{
    for (int r = 0; r < REPLICAS; ++r)
        for (int i = 0; i < COUNT; ++i) {
            before[r][i] = (float)(1000 * r + i % 97);
            after[r][i] = (float)(i % 1009) + (float)r;
        }
    for (int out_of_order = 0; out_of_order < 2; ++out_of_order) {
        check_order(out_of_order, 0);
        check_order(out_of_order, 1);
    }
    check_beside();
}
