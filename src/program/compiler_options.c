#include "program/compiler_options.h"

#include <string.h>

#include "base/activation.h"
#include "base/error.h"
#include "base/memory.h"
#include "program/kernel_constants.h"

/*
 * CL_DEVICE_SUB_GROUP_SIZES_INTEL of cl_intel_required_subgroup_size, and
 * CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV of cl_nv_device_attribute_query.
 */
enum { SUB_GROUP_SIZES = 0x4108, MOST_SIZES = 16, CAPABILITY = 0x4000 };

/*
 * NVIDIA: the memory of Hopper's and the large Blackwell's units needs 25 KB in flight, of more than one
 * work-group. 3 fit the 65536 registers of a unit where an item takes at most 80, and 2 with 128, which
 * is better where three tensors are loaded; left alone the compiler takes up to 191, for one. What it
 * spills instead is used outside the main loop for the most part: doc/devices.md.
 */
static const char registers80[] = "-cl-nv-maxrregcount=80";
static const char registers128[] = "-cl-nv-maxrregcount=128";
_Static_assert(3 * SBN_GPU_ITEMS * 80 <= 65536 && 2 * SBN_GPU_ITEMS * 128 <= 65536, "they fit");

/*
 * Intel's compiler takes 32 work-items for a thread where it cannot take 8 (Ponte Vecchio, Battlemage),
 * which leaves each half the registers of 16.
 */
#define SUB_GROUPS16 "-D SUB_GROUP=16 "

/* 1 if a list of names, apart by spaces, has this one. */
static int has_name(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return 1;
    return 0;
}

sbn_compiler sbn__compiler_by(const char *extensions, size_t least_sub_group, cl_uint capability)
{
    if (has_name(extensions, "cl_nv_compiler_options") && (capability == 9 || capability == 10))
        return SBN_COMPILER_REGISTERS;
    if (capability > 0 && capability < 7)
        return SBN_COMPILER_UNFENCED;
    return has_name(extensions, "cl_intel_required_subgroup_size") && least_sub_group == 16
               ? SBN_COMPILER_SUB_GROUPS16
               : SBN_COMPILER_PLAIN;
}

static size_t least_sub_group_of(cl_device_id device)
{
    size_t sizes[MOST_SIZES] = {0}, bytes = 0, least = 0;
    if (clGetDeviceInfo(device, SUB_GROUP_SIZES, sizeof sizes, sizes, &bytes) != CL_SUCCESS)
        return 0;
    for (size_t i = 0; i < bytes / sizeof *sizes; ++i)
        least = least && least < sizes[i] ? least : sizes[i];
    return least;
}

static cl_uint capability_of(cl_device_id device)
{
    cl_uint major;
    return clGetDeviceInfo(device, CAPABILITY, sizeof major, &major, NULL) == CL_SUCCESS ? major
                                                                                         : 0;
}

int sbn__compiler_of(cl_device_id device, sbn_kernel_form form, sbn_compiler *compiler)
{
    *compiler = SBN_COMPILER_PLAIN;
    if (form != SBN_FORM_GPU)
        return SBN_SUCCESS;
    size_t size = 0;
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
    /* One more 0 than the driver promises. */
    char *extensions = code == CL_SUCCESS ? sbn__allocate(size + 1) : NULL;
    if (code == CL_SUCCESS && !extensions)
        return sbn__fail_memory("the names of a device's extensions");
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, extensions, NULL);
    if (code == CL_SUCCESS)
        *compiler = sbn__compiler_by(extensions, least_sub_group_of(device), capability_of(device));
    sbn__free(extensions);
    return code == CL_SUCCESS
               ? SBN_SUCCESS
               : sbn__fail(code, "clGetDeviceInfo(CL_DEVICE_EXTENSIONS): %s", sbn_strerror(code));
}

/*
 * Intel's kernels address what the device offers to allocate. A program may have larger buffers
 * (CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL): without this option addresses in them wrap.
 */
#define LARGE_BUFFERS "-cl-intel-greater-than-4GB-buffer-required"
enum { INTEL = 0x8086 };

int sbn__largest_buffer(cl_device_id device, const char *options, cl_ulong *bytes)
{
    cl_device_type type;
    cl_uint vendor;
    *bytes = UINT64_MAX;
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(device, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL);
    if (code == CL_SUCCESS && type & CL_DEVICE_TYPE_GPU && vendor == INTEL &&
        !(options && strstr(options, LARGE_BUFFERS)))
        code = clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof *bytes, bytes, NULL);
    return code == CL_SUCCESS
               ? SBN_SUCCESS
               : sbn__fail(code, "clGetDeviceInfo(CL_DEVICE_VENDOR_ID): %s", sbn_strerror(code));
}

int sbn__fail_large(cl_ulong most, size_t bytes, const char *who, const char *name)
{
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: %s: expected a buffer of at most %llu bytes, got one of %zu: this "
                     "device's kernels address more only with build_options \"" LARGE_BUFFERS "\"",
                     who, name, (unsigned long long)most, bytes);
}

const char *sbn__compiler_options(sbn_compiler compiler, int program, int fusion, const char *more)
{
    if (compiler == SBN_COMPILER_SUB_GROUPS16)
        return SUB_GROUPS16;
    /* The rest takes fewer registers. */
    if (compiler != SBN_COMPILER_REGISTERS || program == SBN_PROGRAM_APPLY ||
        strstr(more, "-cl-nv-maxrregcount"))
        return "";
    return sbn__fusion_residual(fusion) ? registers128 : registers80;
}
