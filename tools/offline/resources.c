/*
 * What a driver says of the GPU form's kernels once it has compiled them, beside what make
 * check-offline says without one:
 *
 *   resources [TYPE]    of every usable device, or of those of a type, as gpu
 *
 * A line for each kernel: its work-group, the multiple that the device prefers, local and private
 * memory; then what the compiler has logged: registers and spills, from NVIDIA's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/devices.h"
#include "program/compiler_options.h"
#include "program/program_text.h"

static int fail(const char *what, cl_int code)
{
    fprintf(stderr, "resources: %s: %s\n", what, sbn_strerror(code));
    return 1;
}

/* One question about a kernel; it fails where a driver does not know. */
static int ask(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info question,
               size_t size, void *answer, const char *name)
{
    const cl_int code = clGetKernelWorkGroupInfo(kernel, device, question, size, answer, NULL);
    return code ? fail(name, code) : 0;
}

static int print_kernel(cl_kernel kernel, cl_device_id device, const char *program)
{
    char name[128] = "";
    size_t items = 0, local[3] = {0, 0, 0}, multiple = 0;
    cl_ulong local_bytes = 0, private_bytes = 0;
    if (clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL))
        return fail(program, CL_INVALID_KERNEL);
    if (ask(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof items, &items, name) ||
        ask(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof local, local, name) ||
        ask(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple,
            &multiple, name) ||
        ask(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes, name) ||
        ask(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof private_bytes, &private_bytes, name))
        return 1;
    printf("  %s/%s: work-group %zu of at most %zu, multiple %zu, %llu B local, %llu B private\n",
           program, name, local[0] * local[1] * local[2], items, multiple,
           (unsigned long long)local_bytes, (unsigned long long)private_bytes);
    return 0;
}

static int print_kernels(cl_program program, cl_device_id device, const char *name)
{
    cl_kernel kernels[64];
    cl_uint count = 0;
    const cl_int code = clCreateKernelsInProgram(program, 64, kernels, &count);
    int failed = code ? fail(name, code) : 0;
    for (cl_uint i = 0; i < count && !code; ++i) {
        failed |= print_kernel(kernels[i], device, name);
        clReleaseKernel(kernels[i]);
    }
    return failed;
}

static void print_log(cl_program program, cl_device_id device)
{
    size_t size = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(size + 1, 1);
    if (log &&
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) == CL_SUCCESS)
        for (char *rest, *line = strtok_r(log, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            printf("  log: %s\n", line);
    free(log);
}

static int print_program(cl_context context, const device_info *d, int which, int part)
{
    sbn_program_text text;
    cl_int code;
    const int is_nvidia = strstr(d->vendor, "NVIDIA") != NULL;
    sbn_compiler compiler;
    if (sbn__compiler_of(d->id, SBN_FORM_GPU, &compiler) ||
        sbn__program_text(&text, which, SBN_FORM_GPU, SBN_F32, 0, part, 0, compiler,
                          is_nvidia ? "-cl-nv-verbose" : ""))
        return fail(sbn_last_error(), SBN_UNSUPPORTED_DEVICE);
    cl_program program = clCreateProgramWithSource(context, text.sources.count, text.sources.texts,
                                                   text.sources.lengths, &code);
    if (code)
        return fail("clCreateProgramWithSource", code);
    char name[32];
    snprintf(name, sizeof name, "%s%s", sbn__part_is_channels_last(part) ? "last_" : "",
             sbn__program_name(which));
    code = clBuildProgram(program, 1, &d->id, text.options, NULL, NULL);
    const int failed = code ? fail("clBuildProgram", code) : print_kernels(program, d->id, name);
    print_log(program, d->id);
    clReleaseProgram(program);
    return failed;
}

static int print_device(const device_info *d, size_t number)
{
    cl_int code;
    printf("device %zu: %s, driver %s\n", number, d->name, d->driver);
    cl_context context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (code)
        return fail("clCreateContext", code);
    int failed = 0;
    for (int part = 0; part < SBN_PARTS; ++part)
        for (int which = 0; which < SBN_PROGRAMS; ++which)
            if (sbn__program_exists(which, SBN_FORM_GPU, 0, part) && !sbn__part_is_of_views(part))
                failed |= print_program(context, d, which, part);
    clReleaseContext(context);
    return failed;
}

int main(int argc, char **argv)
{
    device_list list;
    const cl_int code = devices_list(&list);
    int failed = code ? fail("listing the devices", code) : 0;
    for (size_t i = 0; i < list.devices && !code; ++i)
        if (list.device[i].usable && (argc < 2 || strcmp(argv[1], list.device[i].type) == 0))
            failed |= print_device(&list.device[i], i);
    if (!code)
        devices_free(&list);
    return failed;
}
