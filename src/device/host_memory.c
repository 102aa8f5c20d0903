#include "device/host_memory.h"

#include <string.h>

#include "base/digest.h"
#include "device/commands.h"
#include "program/identity.h"

/* What is copied the library copies: drivers might use it, not aligned for vectors and in several buffers at once. */
static int wrap(const sbn_replica *replica, void *address, size_t size, cl_mem *mem)
{
    const cl_mem_flags how = replica->host_memory == SBN_HOST_MEMORY_COPIED ? CL_MEM_COPY_HOST_PTR
                                                                            : CL_MEM_USE_HOST_PTR;
    return sbn__create_mem(replica, how, size, address, "clCreateBuffer on memory of the host",
                           mem);
}

static sbn_host_memory *place_of(sbn_replica *replica, const void *address)
{
    const uint64_t digest = sbn__digest(SBN_DIGEST_START, &address, sizeof address);
    return &replica->host_memories[digest % SBN_HOST_MEMORIES];
}

int sbn__host_memory_take(sbn_replica *replica, void *address, size_t size, cl_mem *mem)
{
    sbn_host_memory *kept = place_of(replica, address);
    if (!kept->mem || kept->address != address || kept->size != size)
        return wrap(replica, address, size, mem);
    *mem = kept->mem;
    kept->mem = NULL;
    return SBN_SUCCESS;
}

void sbn__host_memory_give(sbn_replica *replica, void *address, size_t size, cl_mem mem)
{
    sbn_host_memory *kept = place_of(replica, address);
    if (replica->host_memory != SBN_HOST_MEMORY_USED) {
        sbn__release_mem(mem);
        return;
    }
    sbn__release_mem(kept->mem);
    *kept = (sbn_host_memory){address, size, mem};
}

int sbn__host_memory_fetch(const sbn_replica *replica, void *address, size_t size, cl_mem mem)
{
    return replica->host_memory != SBN_HOST_MEMORY_COPIED
               ? SBN_SUCCESS
               : sbn__read_now(replica, replica->transfer_queue, mem, 0, size, address,
                               "memory of the host");
}

/* Writes to a buffer on memory that begins behind a page's, as tensors may, and looks there. */
static int see(sbn_replica *replica, float *at, size_t size, int *seen)
{
    const float value = 1.0f;
    cl_mem mem;
    const int status = wrap(replica, at, size, &mem);
    if (status)
        return status;
    const int written = sbn__write_now(replica, replica->transfer_queue, mem, 0, sizeof value,
                                       &value, "a try of memory of the host");
    *seen = *at == value;
    sbn__release_mem(mem);
    return written;
}

/* PoCL's does; in Intel's runtime it computes. */
static int waiting_thread_sleeps(const sbn_replica *replica)
{
    sbn_identity identity;
    return sbn__identity_of(replica->device, &identity) &&
           strcmp(identity.names[SBN_IDENTITY_PLATFORM], "Portable Computing Language") == 0;
}

int sbn__host_memory_try(sbn_replica *replica)
{
    cl_device_type type;
    int seen = 0;
    if (replica->host_memory != SBN_HOST_MEMORY_UNTRIED)
        return SBN_SUCCESS;
    _Alignas(16) float memory[1 + 1024] = {0}; /* so that the second one is not aligned */
    const cl_int code = clGetDeviceInfo(replica->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    int status = sbn__check_cl(replica, "clGetDeviceInfo", code);
    if (!status && type & CL_DEVICE_TYPE_CPU)
        status = see(replica, memory + 1, sizeof memory - sizeof *memory, &seen);
    if (status)
        return status;
    replica->wakes_late = waiting_thread_sleeps(replica);
    replica->host_memory = seen ? SBN_HOST_MEMORY_USED : SBN_HOST_MEMORY_COPIED;
    return SBN_SUCCESS;
}
