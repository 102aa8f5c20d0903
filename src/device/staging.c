#include "device/staging.h"

#include "base/error.h"
#include "base/memory.h"

int sbn__staging_reserve(sbn_replica *replica, sbn_staging *staging, size_t size)
{
    if (staging->at && staging->size >= size)
        return SBN_SUCCESS;
    sbn__staging_release(staging);
    cl_int code = clRetainCommandQueue(replica->transfer_queue);
    if (code != CL_SUCCESS)
        return sbn__check_cl(replica, "clRetainCommandQueue", code);
    sbn__handle_opened();
    staging->queue = replica->transfer_queue;
    staging->mem = clCreateBuffer(replica->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size,
                                  NULL, &code);
    if (code != CL_SUCCESS) {
        staging->mem = NULL;
        sbn__staging_release(staging);
        return sbn__check_cl(replica, "clCreateBuffer for the host", code);
    }
    sbn__handle_opened();
    staging->at = clEnqueueMapBuffer(staging->queue, staging->mem, CL_TRUE,
                                     CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        staging->at = NULL;
        sbn__staging_release(staging);
        return sbn__check_cl(replica, "clEnqueueMapBuffer", code);
    }
    staging->size = size;
    return SBN_SUCCESS;
}

void sbn__staging_release(sbn_staging *staging)
{
    if (staging->at) {
        clEnqueueUnmapMemObject(staging->queue, staging->mem, staging->at, 0, NULL, NULL);
        clFinish(staging->queue);
    }
    if (staging->mem) {
        clReleaseMemObject(staging->mem);
        sbn__handle_closed();
    }
    if (staging->queue) {
        clReleaseCommandQueue(staging->queue);
        sbn__handle_closed();
    }
    *staging = (sbn_staging){0};
}
