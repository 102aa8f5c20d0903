#include "device/program.h"

#include <stdio.h>
#include <string.h>

#include "device/binary.h"
#include "device/build_options.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/kernel_constants.h"
#include "device/kernels.h"
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

/*
 * The sources of a program, found by name among the embedded ones. A pass's file comes before the
 * kernels that both passes share. The last WHOLE_SOURCES, which do a whole pass in one launch, are the
 * CPU form's alone.
 */
static const char *const reduce_sources[] = {
    "common.cl",          "accumulator.cl",     "accumulator_doubles.cl",
    "channels.cl",        "statistics.cl",      "combine.cl",
    "reduce_batch.cl",    "reduce_rows.cl",     "reduce_rows_of_one.cl",
    "reduce_forward.cl",  "reduce_nchw_cpu.cl", "reduce_nchw.cl",
    "reduce_nhwc_cpu.cl", "reduce_nhwc.cl",     "reduce_backward.cl",
    "reduce_nchw_cpu.cl", "reduce_nchw.cl",     "reduce_nhwc_cpu.cl",
    "reduce_nhwc.cl",     "apply_walk.cl",      "apply_forward.cl",
    "apply_backward.cl",  "store_gradients.cl", "whole_forward.cl",
    "whole_backward.cl",
};
enum { WHOLE_SOURCES = 6 };
static const char *const apply_sources[] = {
    "common.cl",        "apply_walk.cl",      "apply_forward.cl", "apply_backward.cl",
    "reduce_slices.cl", "store_gradients.cl", "channels.cl",      "self_test.cl",
};
/* Characters; the buffers of sbn__program_build have room for them and the library's own. */
#define MAX_BUILD_OPTIONS 1000

#define SOURCES(list) (list), sizeof(list) / sizeof *(list)

static const sbn_kernel_source *find_source(const char *name)
{
    const sbn_kernel_source *source = sbn_kernel_sources;
    while (strcmp(source->name, name) != 0)
        ++source;
    return source;
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

static int build_sources(cl_program *program, const sbn_program *owner, sbn_sources *sources,
                         const char *options)
{
    cl_int code;
    *program = clCreateProgramWithSource(owner->context, sources->count, sources->texts,
                                         sources->lengths, &code);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clCreateProgramWithSource: %s", sbn_strerror(code));
    sbn__handle_opened();
    code = clBuildProgram(*program, 1, &owner->device, options, NULL, NULL);
    if (code != CL_SUCCESS)
        return fail_build(*program, owner->device, code);
    /* Before anything is cached: a program that comes from there has passed. */
    return program == &owner->apply ? sbn__self_test(owner) : SBN_SUCCESS;
}

/* From the cache if it is there; else from source, and into the cache. */
static int build(cl_program *program, const sbn_program *owner, const char *const *names,
                 size_t count, const char *options, int cache)
{
    sbn_sources sources = {.count = (cl_uint)count};
    sbn_bytes key = {NULL, 0}, binary = {NULL, 0};
    for (size_t i = 0; i < count; ++i) {
        const sbn_kernel_source *source = find_source(names[i]);
        sources.texts[i] = source->text;
        sources.lengths[i] = source->length;
    }
    if (cache < 0 || !sbn__binary_key(&key, owner->device, &sources, options))
        return build_sources(program, owner, &sources, options);
    if (sbn__cache_load(cache, &key, &binary))
        *program = sbn__binary_load(owner->context, owner->device, options, &binary);
    sbn__bytes_free(&binary);
    int status = SBN_SUCCESS;
    if (*program) {
        sbn__handle_opened();
    } else {
        status = build_sources(program, owner, &sources, options);
        if (!status && sbn__binary_of(*program, owner->device, &binary))
            sbn__cache_store(cache, &key, &binary);
        sbn__bytes_free(&binary);
    }
    sbn__bytes_free(&key);
    return status;
}

int sbn__program_build(sbn_program *program, int cache)
{
    const char *more = program->options;
    char summation[512], sizes[512], common[2048], options[4096];
    int status = sbn__build_options_check(more);
    if (status != SBN_SUCCESS)
        return status;
    sbn__summation_macros(summation, sizeof summation);
    sbn__kernel_macros(program->form, sizes, sizeof sizes);
    /* The library's macros after the caller's: the later definition of two is the one that holds. */
    const int length = snprintf(common, sizeof common, "-cl-std=CL1.2 %s %s%s", more, summation,
                                sizes);
    if (strlen(more) > MAX_BUILD_OPTIONS || length < 0 || (size_t)length >= sizeof common)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "build_options: expected at most %d characters, got %zu",
                         MAX_BUILD_OPTIONS, strlen(more));
    status = build(&program->apply, program, SOURCES(apply_sources), common, cache);
    const size_t sources = sizeof reduce_sources / sizeof *reduce_sources -
                           (program->form == SBN_FORM_CPU ? 0 : WHOLE_SOURCES);
    for (int format = 0; format < SBN_FORMATS && !status; ++format) {
        char forward[512], backward[512];
        sbn__format_macros(sbn__forward_format(format), "FORWARD", forward, sizeof forward);
        sbn__format_macros(sbn__backward_format(format), "BACKWARD", backward, sizeof backward);
        snprintf(options, sizeof options, "%s-D WIDE=%d %s%s", common, format, forward, backward);
        status = build(&program->reduce[format], program, reduce_sources, sources, options, cache);
    }
    if (status == SBN_UNSUPPORTED_DEVICE && *more)
        return sbn__fail(status, "%s (build_options: %s)", sbn_last_error(), more);
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

/* Those that combine, and do whole passes: a program of a device without doubles has none. */
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
