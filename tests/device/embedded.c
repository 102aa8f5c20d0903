/* Devices that cannot run the kernels, simulated by stubs, are refused with the reason. */
#include <string.h>

#include "support/fixture.h"
#include "base/memory.h"
#include "support/wraps.h"

static fixture device;
static cl_command_queue queue;

static void refused(cl_device_info question, const void *answer, size_t size, const char *words,
                    const char *what)
{
    sbn_group_config config = fixture_config(&queue);
    sbn_group *group = (sbn_group *)&group;
    const long before = sbn__handles_open();
    wraps_device_says(question, answer, size);
    expect(sbn_device_check(device.device), SBN_UNSUPPORTED_DEVICE, words, what);
    expect(sbn_group_create(&config, &group), SBN_UNSUPPORTED_DEVICE, words, what);
    tap_ok(strstr(sbn_last_error(), "queues[0]") && !group && sbn__handles_open() == before,
           "%s: the queue is named, there is no group and nothing left of it", what);
    wraps_device_says(question, NULL, 0);
}

/* Kernels whose work-groups do not fit the device, or have no fixed size. */
static void refused_kernels(void)
{
    const size_t one = 1;
    const long before = sbn__handles_open();
    sbn_group_config config = fixture_config(&queue);
    sbn_group *group;
    wraps_device_says(CL_DEVICE_MAX_WORK_GROUP_SIZE, &one, sizeof one);
    expect(sbn_group_create(&config, &group), SBN_UNSUPPORTED_DEVICE,
           "the device has work-groups of 1 work-items at most; | needs ", "small work-groups");
    wraps_device_says(CL_DEVICE_MAX_WORK_GROUP_SIZE, NULL, 0);
    wraps_replace("reqd_work_group_size", "work_group_size_hint");
    expect(sbn_group_create(&config, &group), SBN_UNSUPPORTED_DEVICE,
           " has no fixed size of work-groups", "work-groups of any size");
    tap_ok(wraps_replaced() > 0, "%d kernels without a size", wraps_replaced());
    wraps_replace(NULL, NULL);
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
}

static void checks(void)
{
    static const char embedded[] = "EMBEDDED_PROFILE", old[] = "OpenCL 1.1 old",
                      oldest[] = "OpenCL 1.0", strange[] = "CLOpen 3.0",
                      modern[] = "OpenCL 3.0 new";
    const cl_bool no = CL_FALSE;
    const cl_device_type custom = CL_DEVICE_TYPE_CUSTOM;
    refused(CL_DEVICE_PROFILE, embedded, sizeof embedded, "EMBEDDED_PROFILE|FULL_PROFILE is needed",
            "embedded profile");
    refused(CL_DEVICE_VERSION, old, sizeof old, "OpenCL 1.1 old|1.2 or later", "OpenCL 1.1");
    refused(CL_DEVICE_VERSION, oldest, sizeof oldest, "OpenCL 1.0|1.2 or later", "OpenCL 1.0");
    refused(CL_DEVICE_VERSION, strange, sizeof strange, "CLOpen 3.0|1.2 or later", "no OpenCL");
    refused(CL_DEVICE_AVAILABLE, &no, sizeof no, "not available", "not available");
    refused(CL_DEVICE_COMPILER_AVAILABLE, &no, sizeof no, "no compiler", "no compiler");
    refused(CL_DEVICE_TYPE, &custom, sizeof custom, "custom device", "custom device");
    refused_kernels();
    wraps_device_says(CL_DEVICE_VERSION, modern, sizeof modern);
    expect(sbn_device_check(device.device), SBN_SUCCESS, "", "OpenCL 3.0");
    wraps_device_says(CL_DEVICE_VERSION, NULL, 0);
    expect(sbn_device_check(device.device), SBN_SUCCESS, "", "the device as it is");
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
