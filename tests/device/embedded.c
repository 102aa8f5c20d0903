/* Devices that cannot run the kernels, simulated by stubs, are refused with the reason. */
#include <string.h>

#include "group/group.h"
#include "plan/cpu.h"
#include "support/main.h"
#include "support/wraps.h"

/* A group is refused with these words. */
static void refuse(const char *words, const char *place)
{
    sbn_group *group = (sbn_group *)&group;
    expect(MAKE_GROUP(&group, &queue, .replicas = 1), SBN_UNSUPPORTED_DEVICE, words, "a group");
    tap_ok(strstr(sbn_last_error(), place) && !group, "<%s> is named, there is no group", place);
}

void checks(void)
{
    static const cl_bool no = CL_FALSE;
    static const cl_device_type custom = CL_DEVICE_TYPE_CUSTOM;
    static const size_t least[] = {64, 1, 1};
    static const char long_version[1024] = "OpenCL 3.0 with all that a driver could say";
#define TEXT(text) text, sizeof text
    static const struct {
        cl_device_info question;
        const void *answer;
        size_t size;
        const char *words;
    } devices[] = {
        {CL_DEVICE_PROFILE, TEXT("EMBEDDED_PROFILE"), "EMBEDDED_PROFILE|FULL_PROFILE is needed"},
        {CL_DEVICE_VERSION, TEXT("OpenCL 1.1 old"), "OpenCL 1.1 old|1.2 or later"},
        {CL_DEVICE_VERSION, TEXT("OpenCL 1.0"), "OpenCL 1.0|1.2 or later"},
        {CL_DEVICE_VERSION, TEXT("OpenCL-3.0"), "OpenCL-3.0|1.2 or later"},
        {CL_DEVICE_AVAILABLE, &no, sizeof no, "not available"},
        {CL_DEVICE_COMPILER_AVAILABLE, &no, sizeof no, "no compiler"},
        {CL_DEVICE_ENDIAN_LITTLE, &no, sizeof no, "big-endian"},
        {CL_DEVICE_TYPE, &custom, sizeof custom, "custom device"},
        /* Success takes the sentence away. */
        {CL_DEVICE_VERSION, TEXT("OpenCL 1.2 old"), ""},
        {CL_DEVICE_MAX_WORK_ITEM_SIZES, least, sizeof least, ""},
        {CL_DEVICE_VERSION, long_version, sizeof long_version, ""},
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        const int status = *devices[i].words ? SBN_UNSUPPORTED_DEVICE : SBN_SUCCESS;
        wraps_device_says(devices[i].question, devices[i].answer, devices[i].size);
        /* Too long: OpenCL 1.0 does not know that question. */
        wraps_device_says(CL_DEVICE_HOST_UNIFIED_MEMORY, TEXT("unknown"));
        expect(sbn_device_check(device.device), status, devices[i].words, "a device");
        if (status)
            refuse(devices[i].words, "queues[0]");
        wraps_device_says(0, NULL, 0);
    }

    /* Kernels whose work-groups do not fit the device, or have no fixed size. */
    const size_t one = 1, sizes[] = {63, 1 << 20, 1};
    cl_uint width = 2;
    wraps_device_says(CL_DEVICE_MAX_WORK_GROUP_SIZE, &one, sizeof one);
    wraps_device_says(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &width, sizeof width);
    refuse("the device has work-groups of 1 work-items at most; kernels need 64", "");
    /* A CPU without vectors has the GPU form. */
    width = 1;
    refuse("the device has work-groups of 1 work-items at most; kernels need 256", "");
    wraps_device_says(0, NULL, 0);
    wraps_device_says(CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes, sizeof sizes);
    refuse("the device has work-groups of 63 work-items at most; kernels need ", "");
    wraps_device_says(0, NULL, 0);
    wraps_replace("reqd_work_group_size", "work_group_size_hint");
    refuse(" has no fixed size of work-groups", "");
    wraps_replace(NULL, NULL);

    /* PoCL without hwloc knows no size of caches: those of a unit alone count, of one at least. */
    const cl_ulong nothing = 0;
    wraps_device_says(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &nothing, sizeof nothing);
    wraps_device_says(CL_DEVICE_MAX_COMPUTE_UNITS, &nothing, sizeof(cl_uint));
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_CPU);
    tap_ok(sbn__cached_result(group->replicas) == 2 << 20, "caches of an unknown size are used");
    must(sbn_group_destroy(group), "sbn_group_destroy");
    wraps_device_says(0, NULL, 0);
}
