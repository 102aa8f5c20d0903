#include "fuzz/driver.h"

#include <string.h>

#include "fuzz/fuzz.h"

static fuzz_input answers;
static long objects;
static int program, kernel;

void driver_answers(const uint8_t *bytes, size_t size)
{
    answers = (fuzz_input){bytes, bytes + size};
    objects = 0;
}

long driver_objects(void)
{
    return objects;
}

/* One call in sixteen fails. */
static cl_int code(void)
{
    return fuzz_byte(&answers) % 16 == 15 ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}

static cl_int text(size_t size, void *value)
{
    const cl_int failed = code();
    const size_t length = fuzz_byte(&answers) * 2u;
    if (failed || length >= size)
        return failed ? failed : CL_INVALID_VALUE;
    memset(value, 'x', length);
    ((char *)value)[length] = '\0';
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value,
                       size_t *needed)
{
    (void)device, (void)needed;
    if (what != CL_DEVICE_PLATFORM)
        return text(size, value);
    *(cl_platform_id *)value = NULL;
    return code();
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                         size_t *needed)
{
    (void)platform, (void)what, (void)needed;
    return text(size, value);
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries,
                                     cl_int *of_binaries, cl_int *failed)
{
    (void)context, (void)count, (void)devices;
    *failed = lengths[0] > 0 && binaries[0] ? code() : CL_INVALID_VALUE;
    *of_binaries = code();
    objects += *failed == CL_SUCCESS;
    return *failed == CL_SUCCESS ? (cl_program)&program : NULL;
}

cl_int clBuildProgram(cl_program of, cl_uint count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *data)
{
    (void)of, (void)count, (void)devices, (void)options, (void)notify, (void)data;
    return code();
}

cl_int clCreateKernelsInProgram(cl_program of, cl_uint room, cl_kernel *kernels, cl_uint *count)
{
    (void)of;
    const cl_int failed = code();
    *count = fuzz_byte(&answers) % 24;
    if (failed || *count > room)
        return failed ? failed : CL_INVALID_VALUE;
    for (cl_uint i = 0; i < *count; ++i)
        kernels[i] = (cl_kernel)&kernel;
    objects += (long)*count;
    return CL_SUCCESS;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel of, cl_device_id device, cl_kernel_work_group_info what,
                                size_t size, void *value, size_t *needed)
{
    (void)of, (void)device, (void)what, (void)needed;
    memset(value, fuzz_byte(&answers), size);
    return code();
}

cl_int clReleaseKernel(cl_kernel of)
{
    (void)of;
    --objects;
    return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program of)
{
    (void)of;
    --objects;
    return CL_SUCCESS;
}

/* Of as many devices each time, with binaries of the same sizes. */
cl_int clGetProgramInfo(cl_program of, cl_program_info what, size_t size, void *value,
                        size_t *needed)
{
    static cl_uint devices;
    static size_t sizes[256];
    (void)of, (void)needed;
    switch (what) {
    case CL_PROGRAM_NUM_DEVICES: *(cl_uint *)value = devices = fuzz_byte(&answers); break;
    case CL_PROGRAM_DEVICES:
        fuzz_must(size == devices * sizeof(cl_device_id));
        for (cl_uint i = 0; i < devices; ++i)
            ((cl_device_id *)value)[i] = fuzz_byte(&answers) % 2 ? (cl_device_id)&kernel : NULL;
        break;
    case CL_PROGRAM_BINARY_SIZES:
        for (cl_uint i = 0; i < devices; ++i)
            ((size_t *)value)[i] = sizes[i] = fuzz_byte(&answers);
        break;
    default: /* as PoCL 6, which clears the places of binaries that there are not */
        for (cl_uint i = 0; i < devices; ++i)
            if (sizes[i] > 0)
                memset(((unsigned char **)value)[i], 1, sizes[i]);
            else
                ((unsigned char **)value)[i] = NULL;
    }
    return code();
}
