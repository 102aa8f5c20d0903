/* The kernels of one replica, from the programs of its device. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/program.h"

static int create_kernel(sbn_kernel *kernel, cl_program program, cl_device_id device,
                         const char *name)
{
    cl_int code;
    kernel->name = name;
    kernel->kernel = clCreateKernel(program, name, &code);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clCreateKernel(%s): %s", name, sbn_strerror(code));
    sbn__handle_opened();
    code = clGetKernelWorkGroupInfo(kernel->kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                    sizeof kernel->local, kernel->local, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clGetKernelWorkGroupInfo(%s): %s", name, sbn_strerror(code));
    /* The limit of the device: rusticl reports a CL_KERNEL_WORK_GROUP_SIZE below what it runs. */
    size_t most = 0;
    code = clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clGetDeviceInfo(CL_DEVICE_MAX_WORK_GROUP_SIZE): %s",
                         sbn_strerror(code));
    const size_t needed = kernel->local[0] * kernel->local[1] * kernel->local[2];
    if (most < needed)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                         "the device has work-groups of %zu work-items at most; %s needs %zu", most,
                         name, needed);
    return SBN_SUCCESS;
}

/*
 * Creates the kernels that combine, or do all of a pass, unless the device has no doubles: then
 * there are none.
 */
static int create_combine(sbn_kernels *kernels, const sbn_program *program)
{
    int status = SBN_SUCCESS;
    for (int w = 0; w < SBN_FORMATS && !status; ++w) {
        status = create_kernel(&kernels->forward_combine[w], program->reduce[w], program->device,
                               "forward_combine");
        if (!status)
            status = create_kernel(&kernels->backward_combine[w], program->reduce[w],
                                   program->device, "backward_combine");
        if (!status && program->form == SBN_FORM_CPU)
            status = create_kernel(&kernels->forward_whole[w], program->reduce[w], program->device,
                                   "forward_whole");
        if (!status && program->form == SBN_FORM_CPU)
            status = create_kernel(&kernels->backward_whole[w], program->reduce[w], program->device,
                                   "backward_whole");
    }
    kernels->combine = !status;
    if (status != CL_INVALID_KERNEL_NAME)
        return status;
    sbn__error_clear();
    return SBN_SUCCESS;
}

int sbn__kernels_create(sbn_kernels *kernels, const sbn_program *program)
{
    static const char *const names[4][2] = {
        {"forward_reduce_nchw", "forward_reduce_nhwc"},
        {"backward_reduce_nchw", "backward_reduce_nhwc"},
        {"forward_apply_flat", "forward_apply_rows"},
        {"backward_apply_flat", "backward_apply_rows"},
    };
    const cl_device_id device = program->device;
    memset(kernels, 0, sizeof *kernels);
    int status = SBN_SUCCESS;
    for (int l = 0; l < SBN_LAYOUTS && !status; ++l) {
        for (int w = 0; w < SBN_FORMATS && !status; ++w) {
            const cl_program reduce = program->reduce[w];
            status = create_kernel(&kernels->forward_reduce[l][w], reduce, device, names[0][l]);
            if (!status)
                status = create_kernel(&kernels->backward_reduce[l][w], reduce, device,
                                       names[1][l]);
        }
    }
    for (int walk = 0; walk < SBN_WALKS && !status; ++walk) {
        status = create_kernel(&kernels->forward_apply[walk], program->apply, device,
                               names[2][walk]);
        if (!status)
            status = create_kernel(&kernels->backward_apply[walk], program->apply, device,
                                   names[3][walk]);
    }
    if (!status)
        status = create_kernel(&kernels->add_slices, program->apply, device, "add_slices");
    if (!status)
        status = create_kernel(&kernels->store_gradients, program->apply, device,
                               "store_gradients");
    return status ? status : create_combine(kernels, program);
}

static void release_kernel(sbn_kernel *kernel)
{
    if (kernel->kernel) {
        clReleaseKernel(kernel->kernel);
        sbn__handle_closed();
    }
}

void sbn__kernels_release(sbn_kernels *kernels)
{
    for (int l = 0; l < SBN_LAYOUTS; ++l) {
        for (int w = 0; w < SBN_FORMATS; ++w) {
            release_kernel(&kernels->forward_reduce[l][w]);
            release_kernel(&kernels->backward_reduce[l][w]);
        }
    }
    for (int w = 0; w < SBN_FORMATS; ++w) {
        release_kernel(&kernels->forward_combine[w]);
        release_kernel(&kernels->backward_combine[w]);
        release_kernel(&kernels->forward_whole[w]);
        release_kernel(&kernels->backward_whole[w]);
    }
    for (int walk = 0; walk < SBN_WALKS; ++walk) {
        release_kernel(&kernels->forward_apply[walk]);
        release_kernel(&kernels->backward_apply[walk]);
    }
    release_kernel(&kernels->add_slices);
    release_kernel(&kernels->store_gradients);
}
