#include "device/program.h"

#include <stdio.h>
#include <string.h>

#include "device/binary.h"
#include "device/build_options.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/program_text.h"
#include "device/self_test.h"

const sbn_format *sbn__forward_format(int format)
{
    return format == SBN_WIDE ? &sbn_wide : &sbn_forward_narrow;
}

const sbn_format *sbn__backward_format(int format)
{
    return format == SBN_WIDE ? &sbn_wide : &sbn_backward_narrow;
}

int sbn__program_form(cl_device_id device, sbn_kernel_form wanted, sbn_kernel_form *form)
{
    cl_device_type type = 0;
    cl_uint width = 0;
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width,
                               NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clGetDeviceInfo(CL_DEVICE_TYPE): %s", sbn_strerror(code));
    /* A compiler for CPUs without vectors makes its own, of work-items (Mesa's llvmpipe). */
    *form = wanted != SBN_FORM_AUTO                  ? wanted
            : type & CL_DEVICE_TYPE_CPU && width > 1 ? SBN_FORM_CPU
                                                     : SBN_FORM_GPU;
    return SBN_SUCCESS;
}

int sbn__program_is_worth_caching(cl_device_id device)
{
    cl_device_type type = CL_DEVICE_TYPE_CPU;
    return clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
           !(type & CL_DEVICE_TYPE_CPU);
}

/* The first lines of the compiler's log, after the sentence. */
static int fail_build(cl_program program, cl_device_id device, cl_int code)
{
    char name[128] = "?", log[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    size_t size = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *whole = size > 0 ? sbn__allocate(size) : NULL;
    if (whole && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, whole, NULL) ==
                     CL_SUCCESS)
        snprintf(log, sizeof log, "%s", whole);
    sbn__free(whole);
    return sbn__fail(SBN_UNSUPPORTED_DEVICE, "device \"%s\" cannot build the kernels: %s: %s", name,
                     sbn_strerror(code), log);
}

static int build_text(cl_program *program, const sbn_program *owner, sbn_program_text *text)
{
    cl_int code;
    *program = clCreateProgramWithSource(owner->context, text->sources.count, text->sources.texts,
                                         text->sources.lengths, &code);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clCreateProgramWithSource: %s", sbn_strerror(code));
    sbn__handle_opened();
    code = clBuildProgram(*program, 1, &owner->device, text->options, NULL, NULL);
    if (code != CL_SUCCESS)
        return fail_build(*program, owner->device, code);
    /* Before anything is cached: a program that comes from there has passed. */
    return program == &owner->apply ? sbn__self_test(owner) : SBN_SUCCESS;
}

/* From the cache if it is there; else from source, and into the cache. */
static int build(cl_program *program, const sbn_program *owner, int which, int cache)
{
    sbn_program_text text;
    sbn_bytes key = {NULL, 0}, binary = {NULL, 0};
    int status = sbn__program_text(&text, which, owner->form, owner->options);
    if (status)
        return status;
    if (cache < 0 || !sbn__binary_key(&key, owner->device, &text.sources, text.options))
        return build_text(program, owner, &text);
    if (sbn__cache_load(cache, &key, &binary))
        *program = sbn__binary_load(owner->context, owner->device, text.options, &binary);
    sbn__bytes_free(&binary);
    if (*program) {
        sbn__handle_opened();
    } else {
        status = build_text(program, owner, &text);
        if (!status && sbn__binary_of(*program, owner->device, &binary))
            sbn__cache_store(cache, &key, &binary);
        sbn__bytes_free(&binary);
    }
    sbn__bytes_free(&key);
    return status;
}

int sbn__program_build(sbn_program *program, int cache)
{
    int status = sbn__build_options_check(program->options);
    if (!status)
        status = build(&program->apply, program, SBN_PROGRAM_APPLY, cache);
    if (!status)
        status = build(&program->reduce[SBN_NARROW], program, SBN_PROGRAM_NARROW, cache);
    if (!status)
        status = build(&program->reduce[SBN_WIDE], program, SBN_PROGRAM_WIDE, cache);
    if (status == SBN_UNSUPPORTED_DEVICE && *program->options)
        return sbn__fail(status, "%s (build_options: %s)", sbn_last_error(), program->options);
    return status;
}

static void release_program(cl_program program)
{
    if (program) {
        clReleaseProgram(program);
        sbn__handle_closed();
    }
}

void sbn__program_unload(sbn_program *program)
{
    for (int format = 0; format < SBN_FORMATS; ++format)
        release_program(program->reduce[format]);
    release_program(program->apply);
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
    /* Of the device, for rusticl's CL_KERNEL_WORK_GROUP_SIZE is less than it runs. */
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
    [SBN_REDUCE_COLUMNS] = {"forward_reduce_columns", "backward_reduce_columns", SBN_FORM_GPU},
    [SBN_REDUCE_ROWS] = {"forward_reduce_rows", "backward_reduce_rows", SBN_FORM_GPU},
};
static const kernel_pair walks[SBN_WALKS] = {
    [SBN_WALK_FLAT] = {"forward_apply_flat", "backward_apply_flat", SBN_FORM_CPU},
    [SBN_WALK_ROWS] = {"forward_apply_rows", "backward_apply_rows", SBN_FORM_AUTO},
    [SBN_WALK_PLANES] = {"forward_apply_planes", "backward_apply_planes", SBN_FORM_GPU},
};

const char *sbn__reduction_name(int reduction, int is_backward)
{
    return is_backward ? reductions[reduction].backward : reductions[reduction].forward;
}

const char *sbn__walk_name(int walk, int is_backward)
{
    return is_backward ? walks[walk].backward : walks[walk].forward;
}

static int create_pair(sbn_kernel *forward, sbn_kernel *backward, const kernel_pair *pair,
                       const sbn_program *owner, cl_program program)
{
    if (pair->form != SBN_FORM_AUTO && pair->form != owner->form)
        return SBN_SUCCESS;
    const int status = create_kernel(forward, program, owner->device, pair->forward);
    return status ? status : create_kernel(backward, program, owner->device, pair->backward);
}

int sbn__kernels_create(sbn_kernels *kernels, const sbn_program *program)
{
    memset(kernels, 0, sizeof *kernels);
    int status = SBN_SUCCESS;
    for (int r = 0; r < SBN_REDUCTIONS && !status; ++r)
        for (int w = 0; w < SBN_FORMATS && !status; ++w)
            status = create_pair(&kernels->forward_reduce[r][w], &kernels->backward_reduce[r][w],
                                 &reductions[r], program, program->reduce[w]);
    for (int walk = 0; walk < SBN_WALKS && !status; ++walk)
        status = create_pair(&kernels->forward_apply[walk], &kernels->backward_apply[walk],
                             &walks[walk], program, program->apply);
    if (!status)
        status = create_kernel(&kernels->add_slices, program->apply, program->device, "add_slices");
    if (!status)
        status = create_kernel(&kernels->store_gradients, program->apply, program->device,
                               "store_gradients");
    return status;
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
        for (int w = 0; w < SBN_FORMATS; ++w) {
            release_kernel(&kernels->forward_reduce[r][w]);
            release_kernel(&kernels->backward_reduce[r][w]);
        }
    }
    for (int walk = 0; walk < SBN_WALKS; ++walk) {
        release_kernel(&kernels->forward_apply[walk]);
        release_kernel(&kernels->backward_apply[walk]);
    }
    release_kernel(&kernels->add_slices);
    release_kernel(&kernels->store_gradients);
}
