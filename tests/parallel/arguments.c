/* Bad input to the calls of <syncbn/data_parallel.h>: a clear sentence, and nothing changes. */
#include <string.h>

#include "support/fixture.h"
#include "base/memory.h"

static fixture device, other;
static cl_command_queue queue;
static sbn_group *group;
static sbn_data_parallel *parallel;

static void check_create(void)
{
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_data_parallel *made = parallel;
    expect(sbn_data_parallel_create(group, NULL, NULL), SBN_INVALID_ARGUMENT, "parallel|NULL",
           "no place for the handle");
    expect(sbn_data_parallel_create(NULL, NULL, &made), SBN_INVALID_ARGUMENT, "group|NULL",
           "no group");
    tap_ok(!made, "and no handle");
    expect(sbn_data_parallel_create((sbn_group *)parallel, NULL, &made), SBN_INVALID_ARGUMENT,
           "group: expected a handle of this kind", "another handle");
    config.size = 3;
    expect(sbn_data_parallel_create(group, &config, &made), SBN_INVALID_ARGUMENT,
           "config: size|got 3", "a wrong size");
    config = (sbn_data_parallel_config)SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = 4095;
    expect(sbn_data_parallel_create(group, &config, &made), SBN_INVALID_ARGUMENT,
           "bucket_bytes: expected 4096 to |4095", "a bucket too small");
    config.bucket_bytes = SIZE_MAX;
    expect(sbn_data_parallel_create(group, &config, &made), SBN_INVALID_ARGUMENT,
           "bucket_bytes: expected 4096 to 1073741824", "a bucket too large");
    expect(sbn_data_parallel_create(group, NULL, &made), SBN_SUCCESS, "", "the default");
    sbn_data_parallel_destroy(made);
    sbn_data_parallel_destroy(NULL);
    tap_ok(sbn_data_parallel_replicas(NULL) == 0 && sbn_data_parallel_first(NULL) == 0 &&
               sbn_data_parallel_replicas((sbn_data_parallel *)group) == 0,
           "no handle has no replicas");
    tap_ok(sbn_data_parallel_replicas(parallel) == 2 && sbn_data_parallel_first(parallel) == 0,
           "two replicas, of which this process has the first");
}

static void check_begin(void)
{
    const size_t counts[] = {10, 5000}, huge[] = {10, SIZE_MAX / 2};
    cl_int code;
    static float zeros[6000];
    cl_mem mem = clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &code);
    must(code, "clCreateBuffer");
    cl_mem foreign = clCreateBuffer(other.context, CL_MEM_READ_WRITE, 6000 * sizeof(float), NULL,
                                    &code);
    must(code, "clCreateBuffer");
    cl_mem second = clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros,
                                   &code);
    must(code, "clCreateBuffer");
    const sbn_buffer good[] = {{mem, 0}, {mem, 100}}, apart[] = {{second, 0}, {second, 100}},
                     none[] = {{second, 0}, {NULL, 0}}, far[] = {{second, 0}, {second, 1001}},
                     strange[] = {{foreign, 0}, {mem, 100}};
    cl_event event = (cl_event)mem;
    sbn_tensors tensors[2] = {{.size = sizeof(sbn_tensors), .buffers = good, .event = &event},
                              {.size = sizeof(sbn_tensors), .buffers = apart}};
    sbn_exchange *e = (sbn_exchange *)group;
    expect(sbn_average_gradients_begin(parallel, counts, 2, tensors, NULL), SBN_INVALID_ARGUMENT,
           "exchange|NULL", "no place for the handle");
    expect(sbn_average_gradients_begin(NULL, counts, 2, tensors, &e), SBN_INVALID_ARGUMENT,
           "parallel|NULL", "no sbn_data_parallel");
    tap_ok(!e, "and no handle");
    expect(sbn_average_gradients((sbn_data_parallel *)group, counts, 2, tensors),
           SBN_INVALID_ARGUMENT, "parallel: expected a handle of this kind", "another handle");
    expect(sbn_average_gradients(parallel, NULL, 2, tensors), SBN_INVALID_ARGUMENT,
           "sbn_average_gradients: counts: expected 2 sizes, got NULL", "no sizes");
    tap_ok(!event, "after an error there is no event");
    expect(sbn_average_gradients(parallel, counts, 2, NULL), SBN_INVALID_ARGUMENT,
           "replicas: expected tensors of 2 replicas, got NULL", "no tensors");
    expect(sbn_broadcast(parallel, counts, 2, 2, tensors), SBN_INVALID_ARGUMENT,
           "sbn_broadcast: root: expected a replica below 2|got 2", "a root too large");
    tensors[1].buffers = NULL;
    expect(sbn_average_gradients(parallel, counts, 2, tensors), SBN_INVALID_ARGUMENT,
           "replica 1: expected 2 buffers, got NULL", "no buffers");
    tensors[1].buffers = none;
    expect(sbn_average_gradients(parallel, counts, 2, tensors), SBN_INVALID_ARGUMENT,
           "replica 1: tensor 1: expected a buffer, got NULL", "no buffer");
    tensors[1].buffers = far;
    expect(sbn_average_gradients(parallel, counts, 2, tensors), SBN_INVALID_ARGUMENT,
           "replica 1: tensor 1: expected 5000 floats from offset 1001|got a buffer of 6000",
           "a buffer too small");
    tensors[1].buffers = strange;
    expect(sbn_average_gradients(parallel, counts, 2, tensors), SBN_INVALID_ARGUMENT,
           "replica 1: tensor 0|context", "a buffer of another context");
    tensors[1].buffers = apart;
    expect(sbn_average_gradients(parallel, huge, 2, tensors), SBN_INVALID_ARGUMENT,
           "tensor 1|got a buffer of 6000", "a size that overflows");
    tensors[1].num_wait = 1;
    expect(sbn_average_gradients(parallel, counts, 2, tensors), SBN_INVALID_ARGUMENT,
           "replica 1: wait_list: expected 1 events, got NULL", "no wait list");
    tensors[1].num_wait = 0;
    expect(sbn_average_gradients(parallel, NULL, 0, tensors), SBN_SUCCESS, "", "no tensors at all");
    must(clReleaseEvent(event), "clReleaseEvent");
    expect(sbn_average_gradients(parallel, counts, 2, tensors), SBN_SUCCESS, "", "all well");
    must(clWaitForEvents(1, &event), "clWaitForEvents");
    must(clReleaseEvent(event), "clReleaseEvent");
    tensors[0].event = NULL;

    sbn_exchange *many[SBN_MAX_PASSES + 1];
    int ready = 0;
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_average_gradients_begin(parallel, counts, 1, tensors, &many[i]), "begin");
    expect(sbn_average_gradients_begin(parallel, counts, 1, tensors, &many[SBN_MAX_PASSES]),
           SBN_INVALID_ARGUMENT, "at most 64 exchanges", "one too many");
    for (int i = SBN_MAX_PASSES - 1; i >= 0; --i)
        must(sbn_exchange_end(many[i]), "end");
    expect(sbn_exchange_end(many[0]), SBN_INVALID_ARGUMENT, "exchange: |an ended one",
           "ended twice");
    expect(sbn_exchange_progress(many[0], &ready), SBN_INVALID_ARGUMENT, "exchange: |an ended one",
           "progress of an ended one");
    expect(sbn_exchange_end(NULL), SBN_INVALID_ARGUMENT, "exchange|NULL", "no exchange");
    expect(sbn_exchange_progress((sbn_exchange *)group, NULL), SBN_INVALID_ARGUMENT,
           "exchange: expected a handle of this kind", "another handle");
    clFinish(queue);
    clReleaseMemObject(mem);
    clReleaseMemObject(second);
    clReleaseMemObject(foreign);
}

enum { MANY = 3000 };

/* Tensors of 8 floats at every 8th: none overlaps another before one is moved. */
static void lay_out(sbn_buffer *buffers, size_t *counts, cl_mem mem)
{
    for (size_t t = 0; t < MANY; ++t) {
        counts[t] = 8;
        buffers[t] = (sbn_buffer){mem, 8 * (MANY - 1 - t)};
    }
}

static void check_overlaps(void)
{
    static sbn_buffer first[MANY], second[MANY];
    static size_t counts[MANY];
    cl_mem mem[2];
    for (int r = 0; r < 2; ++r) {
        const float zero = 0;
        cl_int code;
        mem[r] = clCreateBuffer(device.context, CL_MEM_READ_WRITE, 8 * MANY * sizeof(float), NULL,
                                &code);
        must(code, "clCreateBuffer");
        must(clEnqueueFillBuffer(queue, mem[r], &zero, sizeof zero, 0, 8 * MANY * sizeof(float), 0,
                                 NULL, NULL),
             "clEnqueueFillBuffer");
    }
    const sbn_tensors tensors[2] = {{.size = sizeof(sbn_tensors), .buffers = first},
                                    {.size = sizeof(sbn_tensors), .buffers = second}};
    lay_out(first, counts, mem[0]);
    lay_out(second, counts, mem[1]);
    expect(sbn_average_gradients(parallel, counts, MANY, tensors), SBN_SUCCESS, "", "side by side");
    counts[2000] = 1;
    first[2000].offset = first[7].offset + 7;
    expect(sbn_average_gradients(parallel, counts, MANY, tensors), SBN_INVALID_ARGUMENT,
           "sbn_average_gradients: replica 0: tensor 2000 must not overlap tensor 7 in the same "
           "call",
           "the last element of another");
    expect(sbn_broadcast(parallel, counts, MANY, 1, tensors), SBN_INVALID_ARGUMENT,
           "sbn_broadcast: replica 0: tensor 2000 must not overlap tensor 7 in the same call",
           "written by a broadcast");
    expect(sbn_broadcast(parallel, counts, MANY, 0, tensors), SBN_SUCCESS, "",
           "read alone by a broadcast");
    counts[2000] = 0;
    expect(sbn_average_gradients(parallel, counts, MANY, tensors), SBN_SUCCESS, "",
           "an empty one within another");
    lay_out(first, counts, mem[0]);
    counts[9] = 8 * 5 + 1;
    expect(sbn_average_gradients(parallel, counts, MANY, tensors), SBN_INVALID_ARGUMENT,
           "replica 0: tensor 9 must not overlap tensor 4 in the same call", "over several");
    counts[9] = 8;
    second[5] = first[4];
    expect(sbn_average_gradients(parallel, counts, MANY, tensors), SBN_INVALID_ARGUMENT,
           "replica 1: tensor 5 must not overlap tensor 4 of replica 0 in the same call",
           "another replica's");
    for (size_t root = 0; root < 2; ++root)
        expect(sbn_broadcast(parallel, counts, MANY, root, tensors), SBN_INVALID_ARGUMENT,
               "sbn_broadcast: replica 1: tensor 5 must not overlap tensor 4 of replica 0",
               root ? "a broadcast that reads one of them" : "a broadcast that writes one of them");
    clFinish(queue);
    clReleaseMemObject(mem[0]);
    clReleaseMemObject(mem[1]);
}

int main(void)
{
    if (fixture_open(&device) || fixture_open(&other))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    queue = fixture_queue(&device, 0);
    const cl_command_queue queues[] = {queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = queues;
    config.replicas = 2;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    must(sbn_data_parallel_create(group, NULL, &parallel), "sbn_data_parallel_create");
    check_create();
    check_begin();
    check_overlaps();
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    fixture_close(&other);
    return tap_done();
}
