#include "program/build.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/binary.h"
#include "program/compiler_options.h"
#include "program/identity.h"
#include "program/kernel_constants.h"
#include "program/program_text.h"
#include "program/self_test.h"

_Static_assert(SBN_GPU_APPLY_ITEMS <= SBN_GPU_ITEMS && SBN_GPU_COMBINE_ITEMS <= SBN_GPU_ITEMS,
               "no kernel has larger work-groups");

/*
 * The limits of the device, and not a kernel's: rusticl reports a CL_KERNEL_WORK_GROUP_SIZE below what it
 * runs. Work-groups have one dimension, devices three or a few more.
 */
static int check_work_groups(cl_device_id device, sbn_kernel_form form)
{
    const size_t needed = form == SBN_FORM_GPU ? SBN_GPU_ITEMS : SBN_ELEMENTWISE_ITEMS;
    size_t most, sizes[8];
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clGetDeviceInfo(CL_DEVICE_MAX_WORK_GROUP_SIZE): %s",
                         sbn_strerror(code));
    most = most < sizes[0] ? most : sizes[0];
    return most >= needed
               ? SBN_SUCCESS
               : sbn__fail(SBN_UNSUPPORTED_DEVICE,
                           "the device has work-groups of %zu work-items at most; kernels need %zu",
                           most, needed);
}

int sbn__program_form(cl_device_id device, sbn_kernel_form wanted, sbn_kernel_form *form)
{
    cl_device_type type;
    cl_uint width;
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width,
                               NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clGetDeviceInfo(CL_DEVICE_TYPE): %s", sbn_strerror(code));
    /* A CPU driver without native vectors vectorises over work-items itself (Mesa's llvmpipe). */
    *form = wanted != SBN_FORM_AUTO                  ? wanted
            : type & CL_DEVICE_TYPE_CPU && width > 1 ? SBN_FORM_CPU
                                                     : SBN_FORM_GPU;
    return check_work_groups(device, *form);
}

/*
 * 1 unless the device is a CPU: CPU drivers compile again at each kernel's first launch, have a
 * cache of their own, and take seconds to return a binary (PoCL).
 */
static int is_worth_caching(cl_device_id device)
{
    cl_device_type type = CL_DEVICE_TYPE_CPU;
    return clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
           !(type & CL_DEVICE_TYPE_CPU);
}

/* The device's name, and the beginning of its compiler's log. */
typedef struct build_log {
    char name[SBN_DEVICE_NAME], text[256];
} build_log;

static build_log read_log(cl_program program, cl_device_id device)
{
    build_log log = {"", ""};
    size_t size = 0;
    sbn__device_name(device, log.name);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *text = sbn__allocate(size);
    if (text && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, text, NULL) ==
                    CL_SUCCESS)
        snprintf(log.text, sizeof log.text, "%s", text);
    sbn__free(text);
    return log;
}

/* A build has failed. The caller's options are to blame if the least of programs builds only without them. */
static int blame_options(const sbn_program *owner)
{
    const char *least = "kernel void nothing(void) {}";
    build_log log = {"", ""};
    cl_int code;
    cl_program program = clCreateProgramWithSource(owner->context, 1, &least, NULL, &code);
    int blamed = 0;
    if (code == CL_SUCCESS) {
        if (clBuildProgram(program, 1, &owner->device, owner->options, NULL, NULL) != CL_SUCCESS) {
            log = read_log(program, owner->device);
            blamed = clBuildProgram(program, 1, &owner->device, "", NULL, NULL) == CL_SUCCESS;
        }
        clReleaseProgram(program);
    }
    if (!blamed)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "%s (build_options: %s)", sbn_last_error(),
                         owner->options);
    const char *text = log.text + strspn(log.text, "\r\n");
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "build_options: the compiler of device \"%s\" does not take \"%s\": %.*s",
                     log.name, owner->options, (int)strcspn(text, "\r\n"), text);
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
    /* PoCL fails at times where another process stores the same program in its cache. */
    if (code == CL_BUILD_PROGRAM_FAILURE)
        code = clBuildProgram(*program, 1, &owner->device, text->options, NULL, NULL);
    if (code != CL_SUCCESS) {
        build_log log = read_log(*program, owner->device);
        for (char *at = log.text; (at = strchr(at, '\n')) != NULL;)
            *at = ' ';
        /* Another time there may be memory. */
        const int full = code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES;
        return sbn__fail(full ? code : SBN_UNSUPPORTED_DEVICE,
                         "device \"%s\" cannot build the kernels: %s: %s", log.name,
                         sbn_strerror(code), log.text);
    }
    /* Before the program is cached, so that cached programs have passed the test. */
    if (program != &owner->programs[SBN_PROGRAM_APPLY] || owner->fusion)
        return SBN_SUCCESS;
    return sbn__self_test(owner);
}

static void announce(const sbn_program *owner, int which, const sbn_group_config *config)
{
    char name[SBN_DEVICE_NAME], sentence[256];
    if (!config->on_compile)
        return;
    sbn__device_name(owner->device, name);
    snprintf(sentence, sizeof sentence, "compiling program \"%s\", %s%s, for device \"%s\"",
             sbn__program_name(which), sbn__type_name(owner->type), owner->fusion ? ", fused" : "",
             name);
    config->on_compile(config->compile_context, sentence);
}

/* Loads a program from the cache, or builds it from source and stores it in the cache. */
static int build(sbn_program *owner, int which, int cache, const sbn_group_config *config)
{
    cl_program *program = &owner->programs[which];
    sbn_program_text text;
    sbn_bytes key = {0}, binary = {0};
    int status = SBN_SUCCESS;
    sbn__program_text(&text, owner, which);
    const int caches = cache >= 0 &&
                       sbn__binary_key(&key, owner->device, &text.sources, text.options);
    if (caches && sbn__cache_load(cache, "program", &key, &binary))
        *program = sbn__binary_load(owner->context, owner->device, text.options, &binary);
    sbn__bytes_free(&binary);
    if (*program) {
        sbn__handle_opened();
    } else {
        announce(owner, which, config);
        status = build_text(program, owner, &text);
        if (!status && caches && sbn__binary_of(*program, owner->device, &binary))
            sbn__cache_store(cache, "program", &key, &binary);
        sbn__bytes_free(&binary);
    }
    sbn__bytes_free(&key);
    return status;
}

static void release_program(cl_program *program)
{
    SBN_RELEASE(clReleaseProgram, *program);
    *program = NULL;
}

/*
 * Builds the program with the self-tests; once more without what it can do without, where that may be what
 * does not pass them, or does not compile.
 */
static int build_apply(sbn_program *program, int cache, const sbn_group_config *config)
{
    static const unsigned needless[SBN_TYPES] =
        {[SBN_F32] = SBN_WITHOUT_FENCE, [SBN_F16] = SBN_WITHOUT_HALF_FUNCTIONS};
    const int status = build(program, SBN_PROGRAM_APPLY, cache, config);
    if (status != SBN_UNSUPPORTED_DEVICE || !needless[program->type] ||
        program->form != SBN_FORM_GPU || program->fusion)
        return status;
    release_program(&program->programs[SBN_PROGRAM_APPLY]);
    sbn__error_clear();
    program->without |= needless[program->type];
    return build(program, SBN_PROGRAM_APPLY, cache, config);
}

int sbn__program_build(sbn_program *program, const sbn_group_config *config)
{
    const int caches = config->program_cache || is_worth_caching(program->device);
    const int cache = caches ? sbn__cache_open(config->program_cache, 1) : -1;
    int status = sbn__compiler_of(program->device, program->form, &program->compiler);
    if (!status && sbn__program_exists(program, SBN_PROGRAM_APPLY))
        status = build_apply(program, cache, config);
    for (int which = 0; which < SBN_PROGRAM_APPLY && !status; ++which)
        if (sbn__program_exists(program, which))
            status = build(program, which, cache, config);
    sbn__cache_close(cache);
    if (status == SBN_UNSUPPORTED_DEVICE && *program->options)
        return blame_options(program);
    return status;
}

void sbn__program_unload(sbn_program *program)
{
    for (int which = 0; which < SBN_PROGRAMS; ++which)
        release_program(&program->programs[which]);
}
