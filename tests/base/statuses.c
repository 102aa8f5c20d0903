/*
 * sbn_status_name and sbn_strerror: every status of the library, of OpenCL 1.0 to 3.0 and of its
 * extensions has its identifier and a phrase that holds it; every other number is shown.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <syncbn.h>
#ifdef __APPLE__
#include <OpenCL/cl_ext.h>
#include <OpenCL/cl_gl.h>
#else
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#endif

#include "support/tap.h"

typedef struct known {
    int status;
    const char *name;
} known;

/* Numbers from the headers, */
#define HEADER(name) \
    { \
        name, #name \
    }

static const known list[] = {
    HEADER(SBN_SUCCESS),
    HEADER(SBN_ERROR_FIRST),
    HEADER(SBN_INVALID_ARGUMENT),
    HEADER(SBN_OUT_OF_MEMORY),
    HEADER(SBN_UNSUPPORTED_DEVICE),
    HEADER(SBN_TOO_FEW_VALUES),
    HEADER(SBN_DISAGREEMENT),
    HEADER(SBN_REMOTE_ERROR),
    HEADER(SBN_TIMEOUT),
    HEADER(SBN_GROUP_FAILED),
    HEADER(SBN_TRANSPORT_ERROR),
    HEADER(SBN_IO_ERROR),
    HEADER(SBN_INVALID_FILE),
    HEADER(SBN_KEY_MISMATCH),
    HEADER(SBN_ABORTED),
    HEADER(CL_DEVICE_NOT_FOUND),
    HEADER(CL_DEVICE_NOT_AVAILABLE),
    HEADER(CL_COMPILER_NOT_AVAILABLE),
    HEADER(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    HEADER(CL_OUT_OF_RESOURCES),
    HEADER(CL_OUT_OF_HOST_MEMORY),
    HEADER(CL_PROFILING_INFO_NOT_AVAILABLE),
    HEADER(CL_MEM_COPY_OVERLAP),
    HEADER(CL_IMAGE_FORMAT_MISMATCH),
    HEADER(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    HEADER(CL_BUILD_PROGRAM_FAILURE),
    HEADER(CL_MAP_FAILURE),
    HEADER(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    HEADER(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    HEADER(CL_COMPILE_PROGRAM_FAILURE),
    HEADER(CL_LINKER_NOT_AVAILABLE),
    HEADER(CL_LINK_PROGRAM_FAILURE),
    HEADER(CL_DEVICE_PARTITION_FAILED),
    HEADER(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    HEADER(CL_INVALID_VALUE),
    HEADER(CL_INVALID_DEVICE_TYPE),
    HEADER(CL_INVALID_PLATFORM),
    HEADER(CL_INVALID_DEVICE),
    HEADER(CL_INVALID_CONTEXT),
    HEADER(CL_INVALID_QUEUE_PROPERTIES),
    HEADER(CL_INVALID_COMMAND_QUEUE),
    HEADER(CL_INVALID_HOST_PTR),
    HEADER(CL_INVALID_MEM_OBJECT),
    HEADER(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    HEADER(CL_INVALID_IMAGE_SIZE),
    HEADER(CL_INVALID_SAMPLER),
    HEADER(CL_INVALID_BINARY),
    HEADER(CL_INVALID_BUILD_OPTIONS),
    HEADER(CL_INVALID_PROGRAM),
    HEADER(CL_INVALID_PROGRAM_EXECUTABLE),
    HEADER(CL_INVALID_KERNEL_NAME),
    HEADER(CL_INVALID_KERNEL_DEFINITION),
    HEADER(CL_INVALID_KERNEL),
    HEADER(CL_INVALID_ARG_INDEX),
    HEADER(CL_INVALID_ARG_VALUE),
    HEADER(CL_INVALID_ARG_SIZE),
    HEADER(CL_INVALID_KERNEL_ARGS),
    HEADER(CL_INVALID_WORK_DIMENSION),
    HEADER(CL_INVALID_WORK_GROUP_SIZE),
    HEADER(CL_INVALID_WORK_ITEM_SIZE),
    HEADER(CL_INVALID_GLOBAL_OFFSET),
    HEADER(CL_INVALID_EVENT_WAIT_LIST),
    HEADER(CL_INVALID_EVENT),
    HEADER(CL_INVALID_OPERATION),
    HEADER(CL_INVALID_GL_OBJECT),
    HEADER(CL_INVALID_BUFFER_SIZE),
    HEADER(CL_INVALID_MIP_LEVEL),
    HEADER(CL_INVALID_GLOBAL_WORK_SIZE),
    HEADER(CL_INVALID_PROPERTY),
    HEADER(CL_INVALID_IMAGE_DESCRIPTOR),
    HEADER(CL_INVALID_COMPILER_OPTIONS),
    HEADER(CL_INVALID_LINKER_OPTIONS),
    HEADER(CL_INVALID_DEVICE_PARTITION_COUNT),
    HEADER(CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR),
    HEADER(CL_PLATFORM_NOT_FOUND_KHR),
    HEADER(CL_DEVICE_PARTITION_FAILED_EXT),
    HEADER(CL_INVALID_PARTITION_COUNT_EXT),
    HEADER(CL_INVALID_PARTITION_NAME_EXT),
    /* and of what older or other headers lack, from the registry. */
    {-69, "CL_INVALID_PIPE_SIZE"},
    {-70, "CL_INVALID_DEVICE_QUEUE"},
    {-71, "CL_INVALID_SPEC_ID"},
    {-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"},
    {-1002, "CL_INVALID_D3D10_DEVICE_KHR"},
    {-1003, "CL_INVALID_D3D10_RESOURCE_KHR"},
    {-1004, "CL_D3D10_RESOURCE_ALREADY_ACQUIRED_KHR"},
    {-1005, "CL_D3D10_RESOURCE_NOT_ACQUIRED_KHR"},
    {-1006, "CL_INVALID_D3D11_DEVICE_KHR"},
    {-1007, "CL_INVALID_D3D11_RESOURCE_KHR"},
    {-1008, "CL_D3D11_RESOURCE_ALREADY_ACQUIRED_KHR"},
    {-1009, "CL_D3D11_RESOURCE_NOT_ACQUIRED_KHR"},
    {-1010, "CL_INVALID_DX9_MEDIA_ADAPTER_KHR"},
    {-1011, "CL_INVALID_DX9_MEDIA_SURFACE_KHR"},
    {-1012, "CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR"},
    {-1013, "CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR"},
    {-1092, "CL_EGL_RESOURCE_NOT_ACQUIRED_KHR"},
    {-1093, "CL_INVALID_EGL_OBJECT_KHR"},
    {-1094, "CL_INVALID_ACCELERATOR_INTEL"},
    {-1095, "CL_INVALID_ACCELERATOR_TYPE_INTEL"},
    {-1096, "CL_INVALID_ACCELERATOR_DESCRIPTOR_INTEL"},
    {-1097, "CL_ACCELERATOR_TYPE_NOT_SUPPORTED_INTEL"},
    {-1098, "CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL"},
    {-1099, "CL_INVALID_VA_API_MEDIA_SURFACE_INTEL"},
    {-1100, "CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL"},
    {-1101, "CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL"},
    {-1106, "CL_PIPE_FULL_INTEL"},
    {-1107, "CL_PIPE_EMPTY_INTEL"},
    {-1108, "CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM"},
    {-1121, "CL_CONTEXT_TERMINATED_KHR"},
    {-1126, "CL_CANCELLED_IMG"},
    {-1138, "CL_INVALID_COMMAND_BUFFER_KHR"},
    {-1139, "CL_INVALID_SYNC_POINT_WAIT_LIST_KHR"},
    {-1140, "CL_INCOMPATIBLE_COMMAND_QUEUE_KHR"},
    {-1141, "CL_INVALID_MUTABLE_COMMAND_KHR"},
    {-1142, "CL_INVALID_SEMAPHORE_KHR"},
};

enum { KNOWN = sizeof list / sizeof *list, NVIDIA = -9999, LOWEST = -20100 };

static const char *name_of(int status)
{
    for (size_t i = 0; i < KNOWN; ++i)
        if (list[i].status == status)
            return list[i].name;
    return NULL;
}

static void check_known(void)
{
    for (size_t i = 0; i < KNOWN; ++i) {
        const char *name = sbn_status_name(list[i].status), *phrase = sbn_strerror(list[i].status);
        char tail[96];
        snprintf(tail, sizeof tail, " (%s)", list[i].name);
        const size_t length = strlen(phrase), of_tail = strlen(tail);
        tap_ok(strcmp(name, list[i].name) == 0 && length > of_tail &&
                   strcmp(phrase + length - of_tail, tail) == 0,
               "%d: expected %s, got %s: %s", list[i].status, list[i].name, name, phrase);
    }
}

static void check_unknown(void)
{
    int wrong = 0;
    for (int status = LOWEST; status < 10; ++status) {
        char number[16], phrase[32];
        snprintf(number, sizeof number, "%d", status);
        snprintf(phrase, sizeof phrase, "unknown status %d", status);
        wrong += !name_of(status) && (strcmp(sbn_status_name(status), number) != 0 ||
                                      (status != NVIDIA && strcmp(sbn_strerror(status), phrase)));
    }
    tap_ok(!wrong, "statuses from %d on that nobody defines: %d do not show their number", LOWEST,
           wrong);
    tap_ok(strcmp(sbn_strerror(-2147483647 - 1), "unknown status -2147483648") == 0 &&
               strcmp(sbn_status_name(2147483647), "2147483647") == 0,
           "the largest numbers");
}

static void *of_another(void *unused)
{
    (void)unused;
    static char right;
    return strcmp(sbn_strerror(-7001), "unknown status -7001") == 0 &&
                   strcmp(sbn_status_name(-7001), "-7001") == 0
               ? &right
               : NULL;
}

int main(void)
{
    check_known();
    check_unknown();
    tap_ok(strstr(sbn_strerror(CL_PLATFORM_NOT_FOUND_KHR), "no OpenCL driver is found; install") !=
               NULL,
           "without a driver there is a hint: %s", sbn_strerror(CL_PLATFORM_NOT_FOUND_KHR));
    tap_ok(strstr(sbn_strerror(NVIDIA), "NVIDIA") && strstr(sbn_strerror(NVIDIA), "-9999"),
           "what only one driver returns: %s", sbn_strerror(NVIDIA));
    const char *phrase = sbn_strerror(-7000), *name = sbn_status_name(-7000);
    pthread_t thread;
    void *good = NULL;
    const int ran = pthread_create(&thread, NULL, of_another, NULL) == 0 &&
                    pthread_join(thread, &good) == 0;
    tap_ok(ran && good && strcmp(phrase, "unknown status -7000") == 0 && strcmp(name, "-7000") == 0,
           "another thread's unknown status leaves this one's text: %s", phrase);
    return tap_done();
}
