/*
 * Queries, waiting and releasing. A wait or a release that fails is made nevertheless and returns an
 * error: the commands have ended, and the object is gone.
 */
#include "base/memory.h"
#include "support/wraps.h"

WRAP(void, sbn__free, (void *block))
{
    wraps_held[WRAPS_BLOCKS] -= block != NULL;
    __real_sbn__free(block);
}

#define WRAP_INFO(f, type, function, asked) \
    WRAP_CALL(cl_int, f, function, CL_OUT_OF_HOST_MEMORY, \
              (type object, cl_uint what, size_t size, void *value, size_t *needed), \
              (asked, what, size, value, needed))
WRAP_INFO(clGetPlatformInfo, cl_platform_id, WRAP_PLATFORM_INFO, object)
WRAP_INFO(clGetCommandQueueInfo, cl_command_queue, WRAP_QUEUE_INFO, object)
WRAP_INFO(clGetMemObjectInfo, cl_mem, WRAP_BUFFER_INFO, object)
WRAP_INFO(clGetProgramInfo, cl_program, WRAP_PROGRAM_INFO, wraps_program_of(object))
WRAP_CALL(cl_int, clGetPlatformIDs, WRAP_PLATFORM_IDS, CL_OUT_OF_HOST_MEMORY,
          (cl_uint room, cl_platform_id *platforms, cl_uint *count), (room, platforms, count))
WRAP_CALL(cl_int, clGetDeviceIDs, WRAP_DEVICE_IDS, CL_OUT_OF_HOST_MEMORY,
          (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices,
           cl_uint *count),
          (platform, type, room, devices, count))
WRAP_CALL(cl_int, clGetProgramBuildInfo, WRAP_BUILD_INFO, CL_OUT_OF_HOST_MEMORY,
          (cl_program program, cl_device_id device, cl_program_build_info what, size_t size,
           void *value, size_t *needed),
          (program, device, what, size, value, needed))
WRAP_CALL(cl_int, clGetKernelWorkGroupInfo, WRAP_GROUP_INFO, CL_OUT_OF_HOST_MEMORY,
          (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size,
           void *value, size_t *needed),
          (kernel, device, what, size, value, needed))

WRAP_CALL(cl_context, clCreateContext, WRAP_CREATE_CONTEXT, (*code = CL_OUT_OF_HOST_MEMORY, NULL),
          (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
           cl_int *code),
          (properties, count, devices, notify, user, code))

WRAP_HOLD(cl_int, clCreateKernelsInProgram, WRAP_CREATE_KERNELS, CL_OUT_OF_HOST_MEMORY,
          WRAPS_REFERENCES, made == CL_SUCCESS && kernels ? (long)*count : 0,
          (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count),
          (wraps_program_of(program), room, kernels, count))

WRAP_HOLD(cl_int, clEnqueueUnmapMemObject, WRAP_UNMAP, CL_OUT_OF_RESOURCES, WRAPS_REFERENCES,
          made == CL_SUCCESS && event,
          (cl_command_queue queue, cl_mem buffer, void *at, cl_uint count, const cl_event *list,
           cl_event *event),
          (queue, buffer, at, count, list, event))

WRAP(cl_int, clWaitForEvents, (cl_uint count, const cl_event *list))
{
    cl_int code = __real_clWaitForEvents(count, list);
    for (cl_uint i = 0; i < count; ++i)
        if (list[i] == wraps_condemned)
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return wraps_fails(WRAP_WAIT) ? CL_OUT_OF_RESOURCES : code;
}

WRAP(cl_int, clFinish, (cl_command_queue queue))
{
    const cl_int code = __real_clFinish(queue);
    return wraps_fails(WRAP_FINISH) ? CL_OUT_OF_RESOURCES : code;
}

/* One reference less, whatever is returned. */
static cl_int released(cl_int code, int function)
{
    wraps_held[WRAPS_REFERENCES] -= code == CL_SUCCESS;
    return wraps_fails(function) ? CL_OUT_OF_RESOURCES : code;
}

#define WRAP_RETAIN(f, type, function) \
    WRAP_HOLD(cl_int, f, function, CL_OUT_OF_HOST_MEMORY, WRAPS_REFERENCES, made == CL_SUCCESS, \
              (type object), (object))

#define WRAP_RELEASE(f, type, function) \
    WRAP(cl_int, f, (type object)) \
    { \
        return released(__real_##f(object), function); \
    }

WRAP_RETAIN(clRetainCommandQueue, cl_command_queue, WRAP_RETAIN_QUEUE)
WRAP_RETAIN(clRetainMemObject, cl_mem, WRAP_RETAIN_BUFFER)
WRAP_RELEASE(clReleaseCommandQueue, cl_command_queue, WRAP_RELEASE_QUEUE)
WRAP_RELEASE(clReleaseMemObject, cl_mem, WRAP_RELEASE_BUFFER)
WRAP(cl_int, clReleaseEvent, (cl_event event))
{
    wraps_forget(event);
    return released(__real_clReleaseEvent(event), WRAP_RELEASE_EVENT);
}
WRAP_RELEASE(clReleaseKernel, cl_kernel, WRAP_RELEASE_KERNEL)
WRAP_RELEASE(clReleaseProgram, cl_program, WRAP_RELEASE_PROGRAM)
