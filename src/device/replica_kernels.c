#include "device/replica_kernels.h"

#include "base/activation.h"
#include "base/error.h"
#include "base/memory.h"
#include "program/programs.h"

/* The names of a kernel of each pass, or of one that is of none; and the form that has it. */
typedef struct kernel_kind {
    const char *names[2];
    sbn_kernel_form form; /* AUTO: both */
} kernel_kind;

static const kernel_kind kinds[SBN_KERNELS] = {
    [SBN_REDUCE_NCHW] = {{"forward_reduce_nchw", "backward_reduce_nchw"}, SBN_FORM_CPU},
    [SBN_REDUCE_NHWC] = {{"forward_reduce_nhwc", "backward_reduce_nhwc"}, SBN_FORM_CPU},
    [SBN_REDUCE_LARGE_PLANES] = {{"forward_reduce_large_planes", "backward_reduce_large_planes"},
                                 SBN_FORM_GPU},
    [SBN_REDUCE_SMALL_PLANES] = {{"forward_reduce_small_planes", "backward_reduce_small_planes"},
                                 SBN_FORM_GPU},
    [SBN_REDUCE_ROWS] = {{"forward_reduce_rows", "backward_reduce_rows"}, SBN_FORM_GPU},
    [SBN_COMBINE] = {{"forward_combine", "backward_combine"}, SBN_FORM_AUTO},
    [SBN_WHOLE_NCHW] = {{"forward_whole_nchw", "backward_whole_nchw"}, SBN_FORM_CPU},
    [SBN_WHOLE_NHWC] = {{"forward_whole_nhwc", "backward_whole_nhwc"}, SBN_FORM_CPU},
    [SBN_WALK_FLAT] = {{"forward_apply_flat", "backward_apply_flat"}, SBN_FORM_CPU},
    [SBN_WALK_ROWS] = {{"forward_apply_rows", "backward_apply_rows"}, SBN_FORM_AUTO},
    [SBN_WALK_PLANES] = {{"forward_apply_planes", "backward_apply_planes"}, SBN_FORM_GPU},
    [SBN_ADD_SLICES] = {{"add_slices", NULL}, SBN_FORM_AUTO},
    [SBN_STORE_GRADIENTS] = {{"store_gradients", NULL}, SBN_FORM_AUTO},
    [SBN_TEST_SLICES] = {{"self_test_slices", NULL}, SBN_FORM_GPU},
};

const char *sbn__kernel_name(int kernel, int is_backward)
{
    return kinds[kernel].names[is_backward];
}

/* 1 if a variant's programs have the kernel, unless the compiler leaves it out. */
static int has(const sbn_program *program, int kernel, int is_backward)
{
    const kernel_kind *kind = &kinds[kernel];
    const int reduces = kernel < SBN_COMBINE;
    const int applies = kernel > SBN_COMBINE && kernel < SBN_ADD_SLICES;
    if (!kind->names[is_backward] || (kind->form != SBN_FORM_AUTO && kind->form != program->form))
        return 0;
    if (kernel == SBN_REDUCE_ROWS && !(program->part & SBN_PART_CHANNELS_LAST))
        return 0;
    if (kernel == SBN_TEST_SLICES && program->type != SBN_F32)
        return 0;
    return !program->fusion || applies ||
           (reduces && is_backward && sbn__fusion_sums(program->fusion));
}

/*
 * Intermediate languages of CPUs lack the kernels that combine (cl/common/common.cl), and compilers
 * without a fence the test of slices (cl/gpu/last_slice.cl).
 */
static int may_lack(int kernel)
{
    return (kernel >= SBN_COMBINE && kernel < SBN_WALK_FLAT) || kernel == SBN_TEST_SLICES;
}

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
    return SBN_SUCCESS;
}

int sbn__kernels_create(sbn_kernels *kernels, sbn_program *program)
{
    kernels->program = program;
    for (int i = 0; i < 2 * SBN_KERNELS; ++i) {
        const int kernel = i / 2, is_backward = i % 2;
        const int of_pass = is_backward ? SBN_PROGRAM_BACKWARD : SBN_PROGRAM_FORWARD;
        const int owner = kernel < SBN_WALK_FLAT ? of_pass : SBN_PROGRAM_APPLY;
        if (!program->programs[owner] || !has(program, kernel, is_backward))
            continue;
        const int status = create_kernel(&kernels->of[kernel][is_backward],
                                         program->programs[owner], program->device,
                                         sbn__kernel_name(kernel, is_backward));
        if (status == CL_INVALID_KERNEL_NAME && may_lack(kernel))
            sbn__error_clear();
        else if (status)
            return status;
    }
    return SBN_SUCCESS;
}

void sbn__kernels_release(sbn_kernels *kernels)
{
    for (int i = 0; i < 2 * SBN_KERNELS; ++i)
        SBN_RELEASE(clReleaseKernel, kernels->of[i / 2][i % 2].kernel);
    sbn__program_release(kernels->program);
}
