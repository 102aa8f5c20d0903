#include "support/address_space.h"

#include <sys/mman.h>

#include "support/fixture.h"

/* Of the buffer. */
enum { NAMED = 1 << 20 };

int address_space_open(address_space *space, cl_context context, size_t floats)
{
    const size_t bytes = sizeof(float) * floats;
    *space = (address_space){NULL, bytes > NAMED ? bytes : NAMED, NULL};
    void *at = mmap(NULL, space->bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return 0;
    cl_int code;
    space->at = at;
    space->mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, NAMED, at, &code);
    must(code, "clCreateBuffer");
    return 1;
}

void address_space_close(address_space *space)
{
    if (space->mem)
        clReleaseMemObject(space->mem);
    if (space->at)
        munmap(space->at, space->bytes);
}

void run_kernel(sbn_replica *replica, sbn_kernel *kernel, const sbn_arguments *arguments,
                cl_uint dimensions, const size_t *groups)
{
    const sbn_wait none = {.count = 0};
    cl_event event;
    must(sbn__launch(replica, kernel, arguments->list, arguments->count, dimensions, groups, &none,
                     &event),
         "sbn__launch");
    must(clWaitForEvents(1, &event), "clWaitForEvents");
    sbn__release_event(&event);
}
