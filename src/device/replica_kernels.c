#include "device/replica_kernels.h"

#include "base/activation.h"
#include "base/error.h"
#include "base/memory.h"
#include "program/programs.h"

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
static const kernel_pair combine = {"forward_combine", "backward_combine", SBN_FORM_AUTO};

const char *sbn__reduction_name(int reduction, int is_backward)
{
    return is_backward ? reductions[reduction].backward : reductions[reduction].forward;
}

const char *sbn__walk_name(int walk, int is_backward)
{
    return is_backward ? walks[walk].backward : walks[walk].forward;
}

/* Those of the two, if wanted, whose programs exist: the numbers of these are `forward` and `backward`. */
static int create_pair(sbn_kernel *of_forward, sbn_kernel *of_backward, const kernel_pair *pair,
                       const sbn_program *owner, int forward, int backward)
{
    int status = SBN_SUCCESS;
    if (pair->form != SBN_FORM_AUTO && pair->form != owner->form)
        return SBN_SUCCESS;
    if (of_forward && owner->programs[forward])
        status = create_kernel(of_forward, owner->programs[forward], owner->device, pair->forward);
    if (!status && of_backward && owner->programs[backward])
        status = create_kernel(of_backward, owner->programs[backward], owner->device,
                               pair->backward);
    return status;
}

static int create_reductions(sbn_kernels *kernels, const sbn_program *program)
{
    int status = SBN_SUCCESS;
    const int plain = !program->fusion, sums = plain || sbn__fusion_sums(program->fusion);
    for (int r = 0; r < SBN_REDUCTIONS && !status; ++r)
        if (r != SBN_REDUCE_ROWS || sbn__part_is_channels_last(program->part))
            status = create_pair(plain ? &kernels->forward_reduce[r] : NULL,
                                 sums ? &kernels->backward_reduce[r] : NULL, &reductions[r],
                                 program, SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD);
    return status;
}

static int create_combine(sbn_kernels *kernels, const sbn_program *program)
{
    int status = SBN_SUCCESS;
    if (!program->fusion)
        status = create_pair(&kernels->forward_combine, &kernels->backward_combine, &combine,
                             program, SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD);
    for (int layout = 0; layout < SBN_LAYOUTS && !status; ++layout)
        status = create_pair(&kernels->forward_whole[layout], &kernels->backward_whole[layout],
                             &wholes[layout], program, SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD);
    /* Intermediate languages of CPUs lack the kernels that combine: cl/common/common.cl. */
    if (status == CL_INVALID_KERNEL_NAME) {
        sbn__error_clear();
        return SBN_SUCCESS;
    }
    return status;
}

/* Programs whose compiler has no fence for it lack this kernel: cl/gpu/last_slice.cl. */
static int find_slices_test(sbn_kernels *kernels, cl_program apply)
{
    cl_int code;
    cl_kernel kernel = clCreateKernel(apply, "self_test_slices", &code);
    if (code == CL_SUCCESS)
        clReleaseKernel(kernel);
    kernels->counts_slices = code == CL_SUCCESS;
    return code == CL_SUCCESS || code == CL_INVALID_KERNEL_NAME
               ? SBN_SUCCESS
               : sbn__fail(code, "clCreateKernel(self_test_slices): %s", sbn_strerror(code));
}

static int create_apply(sbn_kernels *kernels, const sbn_program *program)
{
    const cl_program apply = program->programs[SBN_PROGRAM_APPLY];
    int status = SBN_SUCCESS;
    for (int walk = 0; walk < SBN_WALKS && !status; ++walk)
        status = create_pair(&kernels->forward_apply[walk], &kernels->backward_apply[walk],
                             &walks[walk], program, SBN_PROGRAM_APPLY, SBN_PROGRAM_APPLY);
    if (status || program->fusion)
        return status;
    status = create_kernel(&kernels->add_slices, apply, program->device, "add_slices");
    if (!status)
        status = create_kernel(&kernels->store_gradients, apply, program->device,
                               "store_gradients");
    return status || program->form == SBN_FORM_CPU || program->type != SBN_F32
               ? status
               : find_slices_test(kernels, apply);
}

int sbn__kernels_create(sbn_kernels *kernels, sbn_program *program)
{
    kernels->program = program;
    int status = create_reductions(kernels, program);
    if (!status)
        status = create_combine(kernels, program);
    return status || !program->programs[SBN_PROGRAM_APPLY] ? status
                                                           : create_apply(kernels, program);
}

static void release_kernels(sbn_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (kernels[i].kernel) {
            clReleaseKernel(kernels[i].kernel);
            sbn__handle_closed();
        }
}

void sbn__kernels_release(sbn_kernels *kernels)
{
    release_kernels(kernels->forward_reduce, SBN_REDUCTIONS);
    release_kernels(kernels->backward_reduce, SBN_REDUCTIONS);
    release_kernels(&kernels->forward_combine, 1);
    release_kernels(&kernels->backward_combine, 1);
    release_kernels(kernels->forward_apply, SBN_WALKS);
    release_kernels(kernels->backward_apply, SBN_WALKS);
    release_kernels(kernels->forward_whole, SBN_LAYOUTS);
    release_kernels(kernels->backward_whole, SBN_LAYOUTS);
    release_kernels(&kernels->add_slices, 1);
    release_kernels(&kernels->store_gradients, 1);
    sbn__program_release(kernels->program);
}
