#include "device/commands.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/versioned_struct.h"

#define AWAKE_SECONDS 1e-4

void sbn__wait_add(sbn_wait *wait, cl_event event)
{
    if (event)
        wait->events[wait->count++] = event;
}

void sbn__wait_behind(sbn_wait *wait, const sbn_replica *replica, const sbn_replica *of,
                      cl_event event)
{
    if (!replica->in_order || of->queue != replica->queue)
        sbn__wait_add(wait, event);
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
    for (cl_uint i = 0; i < dimensions; ++i)
        global[i] = work_groups[i] * kernel->local[i];
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < count && code == CL_SUCCESS; ++i)
        code = clSetKernelArg(kernel->kernel, (cl_uint)i, arguments[i].size, arguments[i].value);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(replica->queue, kernel->kernel, dimensions, NULL, global,
                                      kernel->local, wait->count, list_of(wait), event);
    return sbn__opened(replica, kernel->name, code);
}

int sbn__read(sbn_replica *replica, cl_mem buffer, size_t size, void *out, const sbn_wait *wait,
              cl_event *event)
{
    const cl_int code = clEnqueueReadBuffer(replica->queue, buffer, CL_FALSE, 0, size, out,
                                            wait->count, list_of(wait), event);
    return sbn__opened(replica, "clEnqueueReadBuffer", code);
}

int sbn__write(sbn_replica *replica, cl_mem buffer, size_t size, const void *in,
               const sbn_wait *wait, cl_event *event)
{
    const cl_int code = clEnqueueWriteBuffer(replica->queue, buffer, CL_FALSE, 0, size, in,
                                             wait->count, list_of(wait), event);
    return sbn__opened(replica, "clEnqueueWriteBuffer", code);
}

static int check_copy(const sbn_replica *replica, const char *call, const char *what, cl_int code)
{
    return code == CL_SUCCESS ? SBN_SUCCESS
                              : sbn__fail(code, "replica %zu: %s for %s: %s", replica->index, call,
                                          what, sbn_strerror(code));
}

int sbn__read_now(const sbn_replica *replica, cl_command_queue queue, cl_mem buffer, size_t at,
                  size_t size, void *out, const char *what)
{
    const cl_int code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, at, size, out, 0, NULL, NULL);
    return check_copy(replica, "clEnqueueReadBuffer", what, code);
}

/* Intel's runtime for CPUs: under load, kernels of another queue may run before a blocking write has had its effect. */
int sbn__write_now(const sbn_replica *replica, cl_command_queue queue, cl_mem buffer, size_t at,
                   size_t size, const void *in, const char *what)
{
    const cl_int code = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, at, size, in, 0, NULL, NULL);
    const int status = check_copy(replica, "clEnqueueWriteBuffer", what, code);
    return status || queue == replica->queue ? status
                                             : sbn__check_cl(replica, "clFinish", clFinish(queue));
}

int sbn__clear(sbn_replica *replica, cl_mem buffer, size_t size, const sbn_wait *wait,
               cl_event *event)
{
    const cl_uint zero = 0;
    const cl_int code = clEnqueueFillBuffer(replica->queue, buffer, &zero, sizeof zero, 0, size,
                                            wait->count, list_of(wait), event);
    return sbn__opened(replica, "clEnqueueFillBuffer", code);
}

int sbn__marker(const sbn_replica *replica, cl_uint count, const cl_event *events, cl_event *event)
{
    const cl_int code = clEnqueueMarkerWithWaitList(replica->queue, count, count ? events : NULL,
                                                    event);
    return sbn__opened(replica, "clEnqueueMarkerWithWaitList", code);
}

int sbn__wait_list_marker(const sbn_replica *replica, cl_uint count, const cl_event *events,
                          cl_event *event)
{
    return count > 0 ? sbn__marker(replica, count, events, event) : SBN_SUCCESS;
}

int sbn__flush(sbn_replica *replica)
{
    return sbn__check_cl(replica, "clFlush", clFlush(replica->queue));
}

/* Mesa's rusticl (22.3) waits in clFinish only where there is something that no clFlush has sent yet. */
int sbn__finish(const sbn_replica *replica)
{
    cl_int code = CL_SUCCESS;
    if (!replica->wakes_late)
        code = clEnqueueMarkerWithWaitList(replica->queue, 0, NULL, NULL);
    const int status = sbn__check_cl(replica, "clEnqueueMarkerWithWaitList", code);
    const int finished = sbn__check_cl(replica, "clFinish", clFinish(replica->queue));
    return status ? status : finished;
}

int sbn__event_state(const sbn_replica *replica, cl_event event, cl_int *state)
{
    const cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state,
                                       state, NULL);
    return sbn__check_cl(replica, "clGetEventInfo", code);
}

int sbn__event_done(const sbn_replica *replica, cl_event event, int *done)
{
    cl_int state = CL_QUEUED;
    const int status = sbn__event_state(replica, event, &state);
    *done = state == CL_COMPLETE;
    return state < CL_COMPLETE
               ? sbn__check_cl(replica,
                               "a command failed on the device, or an event that it waited for",
                               state)
               : status;
}

int sbn__event_await(const sbn_replica *replica, cl_event event)
{
    const double until = sbn__seconds() + AWAKE_SECONDS;
    int done = 0, status = SBN_SUCCESS;
    while (!status && !done && sbn__seconds() < until) {
        status = sbn__event_done(replica, event, &done);
        if (!done)
            sched_yield();
    }
    return status;
}

int sbn__event_wait(const sbn_replica *replica, cl_event event)
{
    return sbn__check_cl(replica, "clWaitForEvents", clWaitForEvents(1, &event));
}

void sbn__release_event(cl_event *event)
{
    SBN_RELEASE(clReleaseEvent, *event);
    *event = NULL;
}

void sbn__give_event(cl_event *place, cl_event *event)
{
    if (!place)
        return;
    *place = *event;
    *event = NULL;
    sbn__handle_closed();
}

static void clear_events(const void *array, size_t count, size_t known, size_t offset, int given)
{
    const size_t valid = sbn__struct_is_valid(array, count, known) ? count : 0;
    for (size_t i = 0; i < valid; ++i) {
        const size_t size = sbn__struct_size(array);
        cl_event *place = NULL;
        /* The caller's version may lack it. */
        if (offset + sizeof place <= size)
            memcpy(&place, (const char *)array + i * size + offset, sizeof place);
        if (place && given && *place)
            clReleaseEvent(*place);
        if (place)
            *place = NULL;
    }
}

void sbn__forget_events(const void *array, size_t count, size_t known, size_t offset)
{
    clear_events(array, count, known, offset, 0);
}

void sbn__withdraw_events(const void *array, size_t count, size_t known, size_t offset)
{
    clear_events(array, count, known, offset, 1);
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
        return sbn__check_cl(replica, "clRetainEvent", code);
    }
    if (event)
        sbn__handle_opened();
    *slot = event;
    return SBN_SUCCESS;
}

static atomic_size_t device_memory;

size_t sbn_device_memory(void)
{
    return atomic_load_explicit(&device_memory, memory_order_relaxed);
}

int sbn__create_mem(const sbn_replica *replica, cl_mem_flags flags, size_t size, void *host,
                    const char *call, cl_mem *mem)
{
    cl_int code;
    *mem = clCreateBuffer(replica->context, CL_MEM_READ_WRITE | flags, size, host, &code);
    return sbn__opened(replica, call, code);
}

void sbn__release_mem(cl_mem mem)
{
    SBN_RELEASE(clReleaseMemObject, mem);
}

static int reserve(sbn_replica *replica, sbn_device_buffer *buffer, size_t size, int on_host)
{
    if (buffer->size >= size)
        return SBN_SUCCESS;
    sbn__release_buffer(buffer);
    const int status = sbn__create_mem(replica, on_host ? CL_MEM_ALLOC_HOST_PTR : 0, size, NULL,
                                       "clCreateBuffer", &buffer->mem);
    if (status)
        return status;
    if (!on_host)
        atomic_fetch_add_explicit(&device_memory, size, memory_order_relaxed);
    buffer->size = size;
    buffer->on_host = on_host;
    return SBN_SUCCESS;
}

int sbn__reserve(sbn_replica *replica, sbn_device_buffer *buffer, size_t size)
{
    return reserve(replica, buffer, size, 0);
}

int sbn__reserve_kept(sbn_replica *replica, sbn_device_buffer *buffer, size_t size)
{
    return reserve(replica, buffer, size, replica->unified);
}

void sbn__release_buffer(sbn_device_buffer *buffer)
{
    sbn__release_mem(buffer->mem);
    if (!buffer->on_host)
        atomic_fetch_sub_explicit(&device_memory, buffer->size, memory_order_relaxed);
    *buffer = (sbn_device_buffer){0};
}
