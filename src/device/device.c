#include "device/device.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static int fail_cl(const sbn_replica *replica, const char *call, cl_int code)
{
    return sbn__fail(code, "replica %zu: %s: %s", replica->index, call, sbn_strerror(code));
}

int sbn_device_check(cl_device_id device)
{
    sbn__error_clear();
    if (!device)
        return sbn__fail(SBN_INVALID_ARGUMENT, "device: expected a device, got NULL");
    char profile[64] = "", version[128] = "";
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    cl_device_type type = 0;
    const struct {
        cl_device_info info;
        size_t size;
        void *value;
    } questions[] = {
        {CL_DEVICE_PROFILE, sizeof profile, profile},
        {CL_DEVICE_VERSION, sizeof version, version},
        {CL_DEVICE_AVAILABLE, sizeof available, &available},
        {CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler},
        {CL_DEVICE_TYPE, sizeof type, &type},
    };
    for (size_t i = 0; i < sizeof questions / sizeof *questions; ++i) {
        const cl_int code = clGetDeviceInfo(device, questions[i].info, questions[i].size,
                                            questions[i].value, NULL);
        if (code != CL_SUCCESS)
            return sbn__fail(code, "clGetDeviceInfo(0x%x): %s", (unsigned)questions[i].info,
                             sbn_strerror(code));
    }
    if (strcmp(profile, "FULL_PROFILE") != 0)
        return sbn__fail(
            SBN_UNSUPPORTED_DEVICE,
            "the device has the profile %s; FULL_PROFILE is needed, for 64-bit integers", profile);
    if (strncmp(version, "OpenCL ", 7) != 0 || strncmp(version, "OpenCL 1.0", 10) == 0 ||
        strncmp(version, "OpenCL 1.1", 10) == 0)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                         "the device offers \"%s\"; OpenCL 1.2 or later is needed", version);
    if (!available)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "the device says that it is not available");
    if (!compiler)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "the device has no compiler");
    if (type & CL_DEVICE_TYPE_CUSTOM)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "a custom device runs no OpenCL C");
    return SBN_SUCCESS;
}

int sbn__replica_open(sbn_replica *replica, size_t index, cl_command_queue queue)
{
    replica->index = index;
    if (!queue)
        return sbn__fail(SBN_INVALID_ARGUMENT, "queues[%zu]: expected a command queue, got NULL",
                         index);
    cl_uint units = 1;
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof replica->context,
                                        &replica->context, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof replica->device,
                                     &replica->device, NULL);
    if (code == CL_INVALID_COMMAND_QUEUE)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "queues[%zu]: expected a command queue, got another handle", index);
    cl_command_queue_properties properties = 0;
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                     NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(replica->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                               NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(replica->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
                               sizeof replica->max_allocation, &replica->max_allocation, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(replica->device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                               sizeof replica->cache_size, &replica->cache_size, NULL);
    if (code != CL_SUCCESS)
        return fail_cl(replica, "reading the queue's device", code);
    const int status = sbn_device_check(replica->device);
    if (status != SBN_SUCCESS)
        return sbn__fail(status, "queues[%zu]: %s", index, sbn_last_error());
    replica->compute_units = units > 0 ? units : 1;
    replica->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    code = clRetainCommandQueue(queue);
    if (code != CL_SUCCESS)
        return fail_cl(replica, "clRetainCommandQueue", code);
    sbn__handle_opened();
    replica->queue = queue;
    cl_command_queue transfer_queue = clCreateCommandQueue(replica->context, replica->device, 0,
                                                           &code);
    if (code != CL_SUCCESS)
        return fail_cl(replica, "clCreateCommandQueue", code);
    sbn__handle_opened();
    replica->transfer_queue = transfer_queue;
    return SBN_SUCCESS;
}

void sbn__replica_close(sbn_replica *replica)
{
    const cl_command_queue queues[] = {replica->transfer_queue, replica->queue};
    sbn__kernels_release(&replica->kernels);
    sbn__program_release(replica->program);
    for (int i = 0; i < 2; ++i)
        if (queues[i]) {
            clReleaseCommandQueue(queues[i]);
            sbn__handle_closed();
        }
}

void sbn__wait_add(sbn_wait *wait, cl_event event)
{
    if (event)
        wait->events[wait->count++] = event;
}

static const cl_event *list_of(const sbn_wait *wait)
{
    return wait->count ? wait->events : NULL;
}

int sbn__launch(sbn_replica *replica, sbn_kernel *kernel, const sbn_argument *arguments,
                size_t count, cl_uint dimensions, const size_t *work_groups, const sbn_wait *wait,
                cl_event *event)
{
    size_t global[3];
    const int fixed = kernel->local[0] != 0;
    for (cl_uint i = 0; i < dimensions; ++i)
        global[i] = work_groups[i] * (fixed ? kernel->local[i] : 1);
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < count && code == CL_SUCCESS; ++i)
        code = clSetKernelArg(kernel->kernel, (cl_uint)i, arguments[i].size, arguments[i].value);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(replica->queue, kernel->kernel, dimensions, NULL, global,
                                      fixed ? kernel->local : NULL, wait->count, list_of(wait),
                                      event);
    if (code != CL_SUCCESS)
        return fail_cl(replica, kernel->name, code);
    sbn__handle_opened();
    return SBN_SUCCESS;
}

int sbn__read(sbn_replica *replica, cl_mem buffer, size_t size, void *out, const sbn_wait *wait,
              cl_event *event)
{
    const cl_int code = clEnqueueReadBuffer(replica->queue, buffer, CL_FALSE, 0, size, out,
                                            wait->count, list_of(wait), event);
    if (code != CL_SUCCESS)
        return fail_cl(replica, "clEnqueueReadBuffer", code);
    sbn__handle_opened();
    return SBN_SUCCESS;
}

int sbn__write_columns(sbn_replica *replica, cl_mem buffer, const void *in, size_t rows,
                       size_t pitch, size_t offset, size_t size, const sbn_wait *wait,
                       cl_event *event)
{
    const size_t origin[] = {offset, 0, 0}, region[] = {size, rows, 1};
    const int whole = size == pitch;
    const cl_int code = whole
                            ? clEnqueueWriteBuffer(replica->queue, buffer, CL_FALSE, 0, rows * size,
                                                   in, wait->count, list_of(wait), event)
                            : clEnqueueWriteBufferRect(replica->queue, buffer, CL_FALSE, origin,
                                                       origin, region, pitch, 0, pitch, 0, in,
                                                       wait->count, list_of(wait), event);
    if (code != CL_SUCCESS)
        return fail_cl(replica, whole ? "clEnqueueWriteBuffer" : "clEnqueueWriteBufferRect", code);
    sbn__handle_opened();
    return SBN_SUCCESS;
}

int sbn__marker(sbn_replica *replica, cl_uint count, const cl_event *events, cl_event *event)
{
    const cl_int code = clEnqueueMarkerWithWaitList(replica->queue, count, count ? events : NULL,
                                                    event);
    if (code != CL_SUCCESS)
        return fail_cl(replica, "clEnqueueMarkerWithWaitList", code);
    sbn__handle_opened();
    return SBN_SUCCESS;
}

int sbn__flush(sbn_replica *replica)
{
    const cl_int code = clFlush(replica->queue);
    return code == CL_SUCCESS ? SBN_SUCCESS : fail_cl(replica, "clFlush", code);
}

int sbn__event_state(const sbn_replica *replica, cl_event event, cl_int *state)
{
    const cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state,
                                       state, NULL);
    return code == CL_SUCCESS ? SBN_SUCCESS : fail_cl(replica, "clGetEventInfo", code);
}

int sbn__event_done(const sbn_replica *replica, cl_event event, int *done)
{
    cl_int state;
    const int status = sbn__event_state(replica, event, &state);
    if (status)
        return status;
    *done = state == CL_COMPLETE;
    return state < 0 ? fail_cl(replica, "a command failed on the device", state) : SBN_SUCCESS;
}

void sbn__release_event(cl_event *event)
{
    if (*event) {
        clReleaseEvent(*event);
        sbn__handle_closed();
        *event = NULL;
    }
}

void sbn__move_event(cl_event *slot, cl_event *event)
{
    sbn__release_event(slot);
    *slot = *event;
    *event = NULL;
}

int sbn__keep_event(const sbn_replica *replica, cl_event *slot, cl_event event)
{
    const cl_int code = event ? clRetainEvent(event) : CL_SUCCESS;
    sbn__release_event(slot);
    if (code != CL_SUCCESS) {
        clWaitForEvents(1, &event);
        return fail_cl(replica, "clRetainEvent", code);
    }
    if (event)
        sbn__handle_opened();
    *slot = event;
    return SBN_SUCCESS;
}

int sbn__reserve(sbn_replica *replica, sbn_device_buffer *buffer, size_t size)
{
    if (buffer->mem && buffer->size >= size)
        return SBN_SUCCESS;
    sbn__release_buffer(buffer);
    cl_int code;
    buffer->mem = clCreateBuffer(replica->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code != CL_SUCCESS) {
        buffer->mem = NULL;
        return fail_cl(replica, "clCreateBuffer", code);
    }
    sbn__handle_opened();
    sbn__device_memory_made(size);
    buffer->size = size;
    return SBN_SUCCESS;
}

void sbn__release_buffer(sbn_device_buffer *buffer)
{
    if (buffer->mem) {
        clReleaseMemObject(buffer->mem);
        sbn__handle_closed();
        sbn__device_memory_released(buffer->size);
    }
    *buffer = (sbn_device_buffer){NULL, 0};
}
