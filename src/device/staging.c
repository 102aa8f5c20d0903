#include "device/staging.h"

#include "base/memory.h"

int sbn__staging_reserve(sbn_replica *replica, sbn_staging *staging, size_t size)
{
    if (staging->size >= size)
        return SBN_SUCCESS;
    sbn__staging_release(staging);
    cl_int code = clRetainCommandQueue(replica->transfer_queue);
    int status = sbn__opened(replica, "clRetainCommandQueue", code);
    if (status)
        return status;
    staging->queue = replica->transfer_queue;
    status = sbn__create_mem(replica, CL_MEM_ALLOC_HOST_PTR, size, NULL,
                             "clCreateBuffer for the host", &staging->mem);
    if (status)
        return status;
    staging->at = clEnqueueMapBuffer(staging->queue, staging->mem, CL_TRUE,
                                     CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL, NULL, &code);
    if (code == CL_SUCCESS)
        staging->size = size;
    return sbn__check_cl(replica, "clEnqueueMapBuffer", code);
}

void sbn__staging_release(sbn_staging *staging)
{
    if (staging->at) {
        clEnqueueUnmapMemObject(staging->queue, staging->mem, staging->at, 0, NULL, NULL);
        clFinish(staging->queue);
    }
    sbn__release_mem(staging->mem);
    SBN_RELEASE(clReleaseCommandQueue, staging->queue);
    *staging = (sbn_staging){0};
}
