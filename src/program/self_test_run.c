#include "program/self_test_run.h"

#include "base/error.h"
#include "base/memory.h"
#include "program/identity.h"

/* A launch has this on the device; every part may be missing. */
typedef struct on_device {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffers[SBN_SELF_TEST_BUFFERS];
} on_device;

static cl_int run_on_device(on_device *d, const sbn_program *program,
                            const sbn_self_test_launch *launch)
{
    const size_t local[2] = {launch->items, 1};
    const size_t global[2] = {launch->items * launch->groups[0], launch->groups[1]};
    cl_int code;
    d->queue = clCreateCommandQueue(program->context, program->device, 0, &code);
    if (code != CL_SUCCESS)
        return code;
    sbn__handle_opened();
    d->kernel = clCreateKernel(program->programs[SBN_PROGRAM_APPLY], launch->kernel, &code);
    if (code != CL_SUCCESS)
        return code;
    sbn__handle_opened();
    for (cl_uint i = 0; i < launch->count && code == CL_SUCCESS; ++i) {
        const sbn_self_test_buffer *from = &launch->buffers[i];
        d->buffers[i] = clCreateBuffer(program->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       from->size, from->bytes, &code);
        if (code != CL_SUCCESS)
            return code;
        sbn__handle_opened();
        code = clSetKernelArg(d->kernel, i, sizeof d->buffers[i], &d->buffers[i]);
    }
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(d->queue, d->kernel, 2, NULL, global, local, 0, NULL, NULL);
    for (cl_uint i = 0; i < launch->count && code == CL_SUCCESS; ++i)
        code = clEnqueueReadBuffer(d->queue, d->buffers[i], CL_TRUE, 0, launch->buffers[i].size,
                                   launch->buffers[i].bytes, 0, NULL, NULL);
    return code;
}

int sbn__self_test_run(const sbn_program *program, const sbn_self_test_launch *launch)
{
    on_device d = {0};
    char name[SBN_DEVICE_NAME];
    const cl_int code = run_on_device(&d, program, launch);
    for (size_t i = 0; i < SBN_SELF_TEST_BUFFERS; ++i)
        SBN_RELEASE(clReleaseMemObject, d.buffers[i]);
    SBN_RELEASE(clReleaseKernel, d.kernel);
    SBN_RELEASE(clReleaseCommandQueue, d.queue);
    if (code == CL_SUCCESS)
        return SBN_SUCCESS;
    sbn__device_name(program->device, name);
    return sbn__fail(code, "the self-test of device \"%s\" cannot run: %s", name,
                     sbn_strerror(code));
}

int sbn__self_test_broken(const sbn_program *program, const char *what, const char *rule)
{
    char name[SBN_DEVICE_NAME];
    sbn__device_name(program->device, name);
    return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                     "device \"%s\" breaks a rule of %s that results rest on: %s", name, what,
                     rule);
}
