/* The queue of programs that use OpenCL for nothing but this library. */
#include <syncbn/group.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "program/opencl.h"

enum { MOST = 32 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cl_command_queue kept;

/* The first CPU that can run the kernels. Without one: why those that there are cannot. */
static int find_device(cl_device_id *found)
{
    cl_platform_id platforms[MOST];
    cl_uint count, n;
    char reason[SBN_SENTENCE_SIZE / 2] = "none; Debian's is pocl-opencl-icd", name[64] = "";
    if (clGetPlatformIDs(MOST, platforms, &count) != CL_SUCCESS)
        count = 0;
    for (cl_uint p = 0; p < count && p < MOST; ++p) {
        cl_device_id devices[MOST];
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_CPU, MOST, devices, &n) != CL_SUCCESS) {
            clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL);
            if (strstr(name, "Portable Computing Language"))
                snprintf(reason, sizeof reason,
                         "PoCL, which shows no device: it needs a home directory that it can "
                         "write to, or POCL_CACHE_DIR");
            continue;
        }
        for (cl_uint d = 0; d < n && d < MOST; ++d) {
            if (sbn_device_check(devices[d]) == SBN_SUCCESS) {
                *found = devices[d];
                return SBN_SUCCESS;
            }
            snprintf(reason, sizeof reason, "%s", sbn_last_error());
        }
    }
    return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                     "OpenCL: expected a driver for this machine's CPU, got %s", reason);
}

/* The first CPU's, in a context of its own that the queue retains. */
static int make_queue(cl_command_queue *queue)
{
    cl_device_id device;
    cl_int code;
    const int status = find_device(&device);
    if (status)
        return status;
    const cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "the host's queue: clCreateContext: %s", sbn_strerror(code));
    *queue = clCreateCommandQueue(context, device, 0, &code);
    clReleaseContext(context);
    return code == CL_SUCCESS
               ? SBN_SUCCESS
               : sbn__fail(code, "the host's queue: clCreateCommandQueue: %s", sbn_strerror(code));
}

int sbn_host_queue(cl_command_queue *queue)
{
    sbn__error_clear();
    if (!queue)
        return sbn__fail(SBN_INVALID_ARGUMENT, "queue: expected a place for the queue, got NULL");
    pthread_mutex_lock(&mutex);
    const int status = kept ? SBN_SUCCESS : make_queue(&kept);
    *queue = kept;
    pthread_mutex_unlock(&mutex);
    return status;
}
