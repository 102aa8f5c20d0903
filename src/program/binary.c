#include "program/binary.h"

#include <string.h>

#include "base/memory.h"
#include "program/identity.h"

static void append(sbn_bytes *key, const void *bytes, size_t size)
{
    memcpy(key->at + key->size, bytes, size);
    key->size += size;
}

int sbn__binary_key(sbn_bytes *key, cl_device_id device, const sbn_sources *sources,
                    const char *options)
{
    sbn_identity identity;
    if (!sbn__identity_of(device, &identity))
        return 0;
    const size_t of_options = strlen(options) + 1;
    size_t size = sizeof identity + of_options;
    for (cl_uint i = 0; i < sources->count; ++i)
        size += sources->lengths[i];
    key->at = sbn__allocate(size);
    if (!key->at)
        return 0;
    append(key, &identity, sizeof identity);
    append(key, options, of_options);
    for (cl_uint i = 0; i < sources->count; ++i)
        append(key, sources->texts[i], sources->lengths[i]);
    return 1;
}

/* Some drivers lose the required work-group sizes when a program is loaded from a binary. */
static int knows_group_sizes(cl_program program, cl_device_id device)
{
    cl_uint count = 0;
    if (clCreateKernelsInProgram(program, 0, NULL, &count) != CL_SUCCESS)
        return 0;
    cl_kernel *kernels = sbn__allocate(sizeof *kernels * count);
    const int made = kernels &&
                     clCreateKernelsInProgram(program, count, kernels, &count) == CL_SUCCESS;
    int known = made && count > 0;
    for (cl_uint i = 0; i < count && made; ++i) {
        size_t local[3];
        known &= clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                          sizeof local, local, NULL) == CL_SUCCESS &&
                 local[0] > 0;
        clReleaseKernel(kernels[i]);
    }
    sbn__free(kernels);
    return known;
}

cl_program sbn__binary_load(cl_context context, cl_device_id device, const char *options,
                            const sbn_bytes *binary)
{
    const unsigned char *at = binary->at;
    cl_int of_binary = CL_SUCCESS, code = CL_SUCCESS;
    cl_program program = clCreateProgramWithBinary(context, 1, &device, &binary->size, &at,
                                                   &of_binary, &code);
    if (code != CL_SUCCESS)
        return NULL;
    if (of_binary == CL_SUCCESS &&
        clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS &&
        knows_group_sizes(program, device))
        return program;
    clReleaseProgram(program);
    return NULL;
}

/* A program made from source belongs to all devices of its context, built for them or not. */
int sbn__binary_of(cl_program program, cl_device_id device, sbn_bytes *binary)
{
    cl_uint count;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL) != CL_SUCCESS)
        return 0;
    cl_device_id *devices = sbn__allocate(sizeof *devices * count);
    size_t *sizes = sbn__allocate(sizeof *sizes * count);
    unsigned char **places = sbn__allocate(sizeof *places * count);
    int good = devices && sizes && places &&
               clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof *devices * count, devices,
                                NULL) == CL_SUCCESS &&
               clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *sizes * count, sizes,
                                NULL) == CL_SUCCESS;
    /* Drivers may clear the places of devices that the program is not built for. */
    for (cl_uint i = 0; i < count && good; ++i) {
        places[i] = sizes[i] > 0 ? sbn__allocate(sizes[i]) : NULL;
        good = places[i] || sizes[i] == 0;
    }
    good = good && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof *places * count, places,
                                    NULL) == CL_SUCCESS;
    for (cl_uint i = 0; places && i < count; ++i) {
        if (good && devices[i] == device) {
            *binary = (sbn_bytes){places[i], sizes[i]};
            places[i] = NULL;
        }
        sbn__free(places[i]);
    }
    sbn__free(devices);
    sbn__free(sizes);
    sbn__free(places);
    return binary->at != NULL;
}
