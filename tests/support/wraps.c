#include "support/wraps.h"

#include <stdlib.h>
#include <string.h>

WRAP_HOLD(void *, sbn__allocate, WRAP_ALLOCATE, NULL, WRAPS_BLOCKS, made != NULL, (size_t size),
          (size))

atomic_long wraps_waited_for, wraps_waited_for_condemned;
_Thread_local cl_event wraps_condemned;
static _Thread_local int until_condemned;

/* Counts the events that a command waits for, and the one that it may have made; returns its status. */
static cl_int enqueued(cl_int code, cl_uint count, const cl_event *list, const cl_event *event)
{
    wraps_waited_for += count;
    for (cl_uint i = 0; i < count; ++i)
        wraps_waited_for_condemned += list[i] == wraps_condemned;
    wraps_held[WRAPS_REFERENCES] += code == CL_SUCCESS && event;
    return code;
}

#define WRAP_ENQUEUE(f, function, parameters, arguments) \
    WRAP(cl_int, f, parameters) \
    { \
        if (wraps_fails(function)) \
            return CL_OUT_OF_RESOURCES; \
        return enqueued(__real_##f arguments, count, list, event); \
    }

WRAP_CREATE(cl_mem, clCreateBuffer, WRAP_CREATE_BUFFER, CL_MEM_OBJECT_ALLOCATION_FAILURE,
            (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
            (context, flags, size, host, code))

WRAP_CALL(cl_int, clSetKernelArg, WRAP_SET_ARG, CL_OUT_OF_RESOURCES,
          (cl_kernel kernel, cl_uint index, size_t size, const void *value),
          (kernel, index, size, value))

/* Nothing to do is an error before OpenCL 2.1. */
WRAP(cl_int, clEnqueueNDRangeKernel,
     (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
      const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
      cl_event *event))
{
    if (wraps_fails(WRAP_LAUNCH))
        return CL_OUT_OF_RESOURCES;
    for (cl_uint d = 0; d < dimensions; ++d)
        if (global[d] == 0)
            return CL_INVALID_GLOBAL_WORK_SIZE;
    return enqueued(__real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                  count, list, event),
                    count, list, event);
}

WRAP_ENQUEUE(clEnqueueReadBuffer, WRAP_READ,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
              void *out, cl_uint count, const cl_event *list, cl_event *event),
             (queue, buffer, blocking, offset, size, out, count, list, event))

WRAP_ENQUEUE(clEnqueueWriteBuffer, WRAP_WRITE,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
              const void *in, cl_uint count, const cl_event *list, cl_event *event),
             (queue, buffer, blocking, offset, size, in, count, list, event))

WRAP_ENQUEUE(clEnqueueFillBuffer, WRAP_FILL,
             (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
              size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event),
             (queue, buffer, pattern, pattern_size, offset, size, count, list, event))

WRAP_ENQUEUE(clEnqueueMarkerWithWaitList, WRAP_MARKER,
             (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
             (queue, count, list, event))

WRAP_CREATE(cl_command_queue, clCreateCommandQueue, WRAP_CREATE_QUEUE, CL_OUT_OF_HOST_MEMORY,
            (cl_context context, cl_device_id device, cl_command_queue_properties properties,
             cl_int *code),
            (context, device, properties, code))

WRAP_HOLD(void *, clEnqueueMapBuffer, WRAP_MAP, (*code = CL_MAP_FAILURE, NULL), WRAPS_REFERENCES,
          made != NULL && event,
          (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
           size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event,
           cl_int *code),
          (queue, buffer, blocking, flags, offset, size, count, list, event, code))

WRAP_HOLD(cl_int, clRetainEvent, WRAP_RETAIN_EVENT, CL_OUT_OF_HOST_MEMORY, WRAPS_REFERENCES,
          made == CL_SUCCESS, (cl_event event), (event))

WRAP_CALL(cl_int, clFlush, WRAP_FLUSH, CL_OUT_OF_RESOURCES, (cl_command_queue queue), (queue))

void wraps_condemn(int n)
{
    if (wraps_condemned)
        clReleaseEvent(wraps_condemned);
    until_condemned = n;
    wraps_condemned = NULL;
}

/* The event is kept, so that no other one gets its address. */
void wraps_condemn_event(cl_event event)
{
    wraps_condemn(0);
    clRetainEvent(event);
    wraps_condemned = event;
}

/* A thread that asks for a command until it has ended has asked once: how often depends on time. */
static _Thread_local cl_event asked;

void wraps_forget(cl_event event)
{
    if (event == asked)
        asked = NULL;
}

WRAP(cl_int, clGetEventInfo,
     (cl_event event, cl_event_info what, size_t size, void *value, size_t *needed))
{
    if (event != asked && wraps_fails(WRAP_EVENT_INFO))
        return CL_OUT_OF_RESOURCES;
    const cl_int code = __real_clGetEventInfo(event, what, size, value, needed);
    if (what != CL_EVENT_COMMAND_EXECUTION_STATUS || code != CL_SUCCESS)
        return code;
    asked = *(cl_int *)value > CL_COMPLETE ? event : NULL;
    if (until_condemned > 0 && --until_condemned == 0)
        wraps_condemn_event(event);
    if (event == wraps_condemned)
        *(cl_int *)value = CL_OUT_OF_RESOURCES;
    return CL_SUCCESS;
}

static struct answer {
    cl_device_info question;
    const void *said;
    size_t size;
} answers[3];
static size_t answer_count;
cl_device_id wraps_says_of;

void wraps_device_says(cl_device_info question, const void *answer, size_t size)
{
    if (!answer) {
        answer_count = 0;
        return;
    }
    if (answer_count == sizeof answers / sizeof *answers)
        abort();
    answers[answer_count++] = (struct answer){question, answer, size};
}

WRAP(cl_int, clGetDeviceInfo,
     (cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed))
{
    if (wraps_fails(WRAP_DEVICE_INFO))
        return CL_OUT_OF_HOST_MEMORY;
    size_t i = 0;
    while (i < answer_count &&
           (answers[i].question != what || (wraps_says_of && wraps_says_of != device)))
        ++i;
    if (i == answer_count)
        return __real_clGetDeviceInfo(device, what, size, value, needed);
    if (needed)
        *needed = answers[i].size;
    if (value && size < answers[i].size)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, answers[i].said, answers[i].size);
    return CL_SUCCESS;
}
