#include "device/replica_kernels.h"

#include <string.h>

#include "base/activation.h"
#include "base/error.h"
#include "base/memory.h"

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
    if (kernel->local[0] == 0)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "%s has no fixed size of work-groups", name);
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

/* A kernel of both passes, and the form that has it. */
typedef struct kernel_pair {
    const char *forward, *backward;
    sbn_kernel_form form; /* AUTO: both */
} kernel_pair;

static const kernel_pair reductions[SBN_REDUCTIONS] = {
    [SBN_REDUCE_NCHW] = {"forward_reduce_nchw", "backward_reduce_nchw", SBN_FORM_CPU},
    [SBN_REDUCE_NHWC] = {"forward_reduce_nhwc", "backward_reduce_nhwc", SBN_FORM_CPU},
    [SBN_REDUCE_LARGE_PLANES] = {"forward_reduce_large_planes", "backward_reduce_large_planes",
                                 SBN_FORM_GPU},
    [SBN_REDUCE_SMALL_PLANES] = {"forward_reduce_small_planes", "backward_reduce_small_planes",
                                 SBN_FORM_GPU},
    [SBN_REDUCE_LARGE_COLUMNS] = {"forward_reduce_large_columns", "backward_reduce_large_columns",
                                  SBN_FORM_GPU},
    [SBN_REDUCE_SMALL_COLUMNS] = {"forward_reduce_small_columns", "backward_reduce_small_columns",
                                  SBN_FORM_GPU},
    [SBN_REDUCE_ROWS] = {"forward_reduce_rows", "backward_reduce_rows", SBN_FORM_GPU},
};
static const kernel_pair walks[SBN_WALKS] = {
    [SBN_WALK_FLAT] = {"forward_apply_flat", "backward_apply_flat", SBN_FORM_CPU},
    [SBN_WALK_ROWS] = {"forward_apply_rows", "backward_apply_rows", SBN_FORM_AUTO},
    [SBN_WALK_PLANES] = {"forward_apply_planes", "backward_apply_planes", SBN_FORM_GPU},
};

static const kernel_pair wholes[SBN_LAYOUTS] = {
    [SBN_LAYOUT_NCHW] = {"forward_whole_nchw", "backward_whole_nchw", SBN_FORM_CPU},
    [SBN_LAYOUT_NHWC] = {"forward_whole_nhwc", "backward_whole_nhwc", SBN_FORM_CPU},
};

const char *sbn__reduction_name(int reduction, int is_backward)
{
    return is_backward ? reductions[reduction].backward : reductions[reduction].forward;
}

const char *sbn__walk_name(int walk, int is_backward)
{
    return is_backward ? walks[walk].backward : walks[walk].forward;
}

/* `forward`, `backward`: the numbers of the programs that have them. */
static int create_pair(sbn_kernel *of_forward, sbn_kernel *of_backward, const kernel_pair *pair,
                       const sbn_program *owner, int forward, int backward)
{
    int status = SBN_SUCCESS;
    if (pair->form != SBN_FORM_AUTO && pair->form != owner->form)
        return SBN_SUCCESS;
    if (of_forward)
        status = create_kernel(of_forward, owner->programs[forward], owner->device, pair->forward);
    return status ? status
                  : create_kernel(of_backward, owner->programs[backward], owner->device,
                                  pair->backward);
}

/* Intermediate languages of CPUs lack the kernels that combine: cl/common/common.cl. */
static int may_lack(int status, int *has)
{
    *has = !status;
    if (status != CL_INVALID_KERNEL_NAME)
        return status;
    sbn__error_clear();
    return SBN_SUCCESS;
}

static int create_whole(sbn_kernels *kernels, const sbn_program *program)
{
    int status = SBN_SUCCESS, has;
    for (int layout = 0; layout < SBN_LAYOUTS && !status; ++layout)
        status = create_pair(&kernels->forward_whole[layout], &kernels->backward_whole[layout],
                             &wholes[layout], program, SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD);
    return may_lack(status, &has);
}

int sbn__kernels_create(sbn_kernels *kernels, const sbn_program *program)
{
    memset(kernels, 0, sizeof *kernels);
    int status = SBN_SUCCESS;
    const int plain = !program->fusion;
    const int sums = plain || sbn__fusion_sums(program->fusion);
    for (int r = 0; r < SBN_REDUCTIONS && !status && sums; ++r)
        status = create_pair(plain ? &kernels->forward_reduce[r] : NULL,
                             &kernels->backward_reduce[r], &reductions[r], program,
                             SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD);
    if (status || program->views)
        return status;
    for (int walk = 0; walk < SBN_WALKS && !status; ++walk)
        status = create_pair(&kernels->forward_apply[walk], &kernels->backward_apply[walk],
                             &walks[walk], program, SBN_PROGRAM_APPLY, SBN_PROGRAM_APPLY);
    return status ? status : create_whole(kernels, program);
}

static int create_combine(sbn_sum_kernels *kernels, const sbn_program *program)
{
    static const kernel_pair combine = {"forward_combine", "backward_combine", SBN_FORM_AUTO};
    const int status = create_pair(&kernels->forward_combine, &kernels->backward_combine, &combine,
                                   program, SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD);
    return may_lack(status, &kernels->combine);
}

int sbn__sum_kernels_create(sbn_sum_kernels *kernels, const sbn_program *program)
{
    memset(kernels, 0, sizeof *kernels);
    cl_program apply = program->programs[SBN_PROGRAM_APPLY];
    int status = create_kernel(&kernels->add_slices, apply, program->device, "add_slices");
    if (!status)
        status = create_kernel(&kernels->store_gradients, apply, program->device,
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
    for (int r = 0; r < SBN_REDUCTIONS; ++r) {
        release_kernel(&kernels->forward_reduce[r]);
        release_kernel(&kernels->backward_reduce[r]);
    }
    for (int layout = 0; layout < SBN_LAYOUTS; ++layout) {
        release_kernel(&kernels->forward_whole[layout]);
        release_kernel(&kernels->backward_whole[layout]);
    }
    for (int walk = 0; walk < SBN_WALKS; ++walk) {
        release_kernel(&kernels->forward_apply[walk]);
        release_kernel(&kernels->backward_apply[walk]);
    }
}

void sbn__sum_kernels_release(sbn_sum_kernels *kernels)
{
    release_kernel(&kernels->forward_combine);
    release_kernel(&kernels->backward_combine);
    release_kernel(&kernels->add_slices);
    release_kernel(&kernels->store_gradients);
}
