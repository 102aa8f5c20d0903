/* Statuses by name and as phrases: the library's own, OpenCL's 1.0 to 3.0, and those of extensions that compute. */
#include <stdio.h>

#include <syncbn/error.h>

typedef struct status_entry {
    int code;
    const char *name, *phrase;
} status_entry;

/* Numbers instead of macros, because older OpenCL headers lack the later ones. */
#define ENTRY(code, name, phrase) \
    { \
        code, #name, phrase " (" #name ")" \
    }

static const status_entry entries[] = {
    ENTRY(0, SBN_SUCCESS, "success"),
    ENTRY(-20000, SBN_ERROR_FIRST, "the bound of the library's own codes, which is no status"),
    ENTRY(-20001, SBN_INVALID_ARGUMENT, "invalid argument"),
    ENTRY(-20002, SBN_OUT_OF_MEMORY, "out of host memory"),
    ENTRY(-20003, SBN_UNSUPPORTED_DEVICE, "the device cannot run the kernels"),
    ENTRY(-20004, SBN_TOO_FEW_VALUES,
          "the batch's statistics need more than one value per channel"),
    ENTRY(-20005, SBN_DISAGREEMENT, "the ranks made different calls"),
    ENTRY(-20006, SBN_REMOTE_ERROR, "another rank reported an error"),
    ENTRY(-20007, SBN_TIMEOUT, "a rank did not join within the timeout"),
    ENTRY(-20008, SBN_GROUP_FAILED, "the group failed earlier"),
    ENTRY(-20009, SBN_TRANSPORT_ERROR, "the transport failed"),
    ENTRY(-20010, SBN_IO_ERROR, "a file cannot be opened, read or written"),
    ENTRY(-20011, SBN_INVALID_FILE, "a file is not in the format expected"),
    ENTRY(-20012, SBN_KEY_MISMATCH, "a checkpoint does not fit the model"),
    ENTRY(-20013, SBN_ABORTED, "the group was ended by sbn_group_abort"),
    ENTRY(-1, CL_DEVICE_NOT_FOUND, "no device of the type asked for"),
    ENTRY(-2, CL_DEVICE_NOT_AVAILABLE, "the device is not available"),
    ENTRY(-3, CL_COMPILER_NOT_AVAILABLE, "the device has no compiler"),
    ENTRY(-4, CL_MEM_OBJECT_ALLOCATION_FAILURE, "no memory for a memory object"),
    ENTRY(-5, CL_OUT_OF_RESOURCES, "the device is out of resources"),
    ENTRY(-6, CL_OUT_OF_HOST_MEMORY, "the OpenCL driver is out of host memory"),
    ENTRY(-7, CL_PROFILING_INFO_NOT_AVAILABLE, "no profiling information"),
    ENTRY(-8, CL_MEM_COPY_OVERLAP, "source and destination of a copy overlap"),
    ENTRY(-9, CL_IMAGE_FORMAT_MISMATCH, "image formats differ"),
    ENTRY(-10, CL_IMAGE_FORMAT_NOT_SUPPORTED, "the image format is not supported"),
    ENTRY(-11, CL_BUILD_PROGRAM_FAILURE, "a program cannot be built"),
    ENTRY(-12, CL_MAP_FAILURE, "memory cannot be mapped"),
    ENTRY(-13, CL_MISALIGNED_SUB_BUFFER_OFFSET, "the sub-buffer's offset is not aligned"),
    ENTRY(-14, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "an event waited for has failed"),
    ENTRY(-15, CL_COMPILE_PROGRAM_FAILURE, "a program cannot be compiled"),
    ENTRY(-16, CL_LINKER_NOT_AVAILABLE, "the device has no linker"),
    ENTRY(-17, CL_LINK_PROGRAM_FAILURE, "programs cannot be linked"),
    ENTRY(-18, CL_DEVICE_PARTITION_FAILED, "the device cannot be partitioned"),
    ENTRY(-19, CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "no information on a kernel's arguments"),
    ENTRY(-30, CL_INVALID_VALUE, "invalid value"),
    ENTRY(-31, CL_INVALID_DEVICE_TYPE, "invalid device type"),
    ENTRY(-32, CL_INVALID_PLATFORM, "invalid platform"),
    ENTRY(-33, CL_INVALID_DEVICE, "invalid device"),
    ENTRY(-34, CL_INVALID_CONTEXT, "invalid context"),
    ENTRY(-35, CL_INVALID_QUEUE_PROPERTIES, "the device does not support the queue's properties"),
    ENTRY(-36, CL_INVALID_COMMAND_QUEUE, "invalid command queue"),
    ENTRY(-37, CL_INVALID_HOST_PTR, "invalid host pointer"),
    ENTRY(-38, CL_INVALID_MEM_OBJECT, "invalid memory object"),
    ENTRY(-39, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "invalid image format descriptor"),
    ENTRY(-40, CL_INVALID_IMAGE_SIZE, "the device does not support the image's size"),
    ENTRY(-41, CL_INVALID_SAMPLER, "invalid sampler"),
    ENTRY(-42, CL_INVALID_BINARY, "invalid program binary"),
    ENTRY(-43, CL_INVALID_BUILD_OPTIONS, "invalid build options"),
    ENTRY(-44, CL_INVALID_PROGRAM, "invalid program"),
    ENTRY(-45, CL_INVALID_PROGRAM_EXECUTABLE, "the program is not built for the device"),
    ENTRY(-46, CL_INVALID_KERNEL_NAME, "the program has no kernel of the name"),
    ENTRY(-47, CL_INVALID_KERNEL_DEFINITION, "the kernel's definition differs between devices"),
    ENTRY(-48, CL_INVALID_KERNEL, "invalid kernel"),
    ENTRY(-49, CL_INVALID_ARG_INDEX, "invalid index of a kernel's argument"),
    ENTRY(-50, CL_INVALID_ARG_VALUE, "invalid value of a kernel's argument"),
    ENTRY(-51, CL_INVALID_ARG_SIZE, "invalid size of a kernel's argument"),
    ENTRY(-52, CL_INVALID_KERNEL_ARGS, "a kernel's arguments are not all set"),
    ENTRY(-53, CL_INVALID_WORK_DIMENSION, "invalid number of dimensions"),
    ENTRY(-54, CL_INVALID_WORK_GROUP_SIZE, "invalid work-group size"),
    ENTRY(-55, CL_INVALID_WORK_ITEM_SIZE, "too many work-items in a dimension of a work-group"),
    ENTRY(-56, CL_INVALID_GLOBAL_OFFSET, "invalid global offset"),
    ENTRY(-57, CL_INVALID_EVENT_WAIT_LIST, "invalid event wait list"),
    ENTRY(-58, CL_INVALID_EVENT, "invalid event"),
    ENTRY(-59, CL_INVALID_OPERATION, "the operation is not allowed here"),
    ENTRY(-60, CL_INVALID_GL_OBJECT, "invalid OpenGL object"),
    ENTRY(-61, CL_INVALID_BUFFER_SIZE, "invalid buffer size"),
    ENTRY(-62, CL_INVALID_MIP_LEVEL, "invalid mipmap level"),
    ENTRY(-63, CL_INVALID_GLOBAL_WORK_SIZE, "invalid global work size"),
    ENTRY(-64, CL_INVALID_PROPERTY, "invalid property"),
    ENTRY(-65, CL_INVALID_IMAGE_DESCRIPTOR, "invalid image descriptor"),
    ENTRY(-66, CL_INVALID_COMPILER_OPTIONS, "invalid compiler options"),
    ENTRY(-67, CL_INVALID_LINKER_OPTIONS, "invalid linker options"),
    ENTRY(-68, CL_INVALID_DEVICE_PARTITION_COUNT, "invalid number of sub-devices"),
    ENTRY(-69, CL_INVALID_PIPE_SIZE, "invalid pipe size"),
    ENTRY(-70, CL_INVALID_DEVICE_QUEUE, "invalid device queue"),
    ENTRY(-71, CL_INVALID_SPEC_ID, "invalid specialization constant"),
    ENTRY(-72, CL_MAX_SIZE_RESTRICTION_EXCEEDED, "larger than the device allows"),
    ENTRY(
        -1001, CL_PLATFORM_NOT_FOUND_KHR,
        "no OpenCL driver is found; install the device's, or pocl-opencl-icd for CPUs, and look at "
        "/etc/OpenCL/vendors and OCL_ICD_VENDORS"),
    ENTRY(-1057, CL_DEVICE_PARTITION_FAILED_EXT, "the device cannot be partitioned"),
    ENTRY(-1058, CL_INVALID_PARTITION_COUNT_EXT, "invalid number of sub-devices"),
    ENTRY(-1059, CL_INVALID_PARTITION_NAME_EXT, "invalid name of a partition"),
    ENTRY(-1094, CL_INVALID_ACCELERATOR_INTEL, "invalid accelerator"),
    ENTRY(-1095, CL_INVALID_ACCELERATOR_TYPE_INTEL, "invalid accelerator type"),
    ENTRY(-1096, CL_INVALID_ACCELERATOR_DESCRIPTOR_INTEL, "invalid accelerator descriptor"),
    ENTRY(-1097, CL_ACCELERATOR_TYPE_NOT_SUPPORTED_INTEL, "the accelerator type is not supported"),
    ENTRY(-1106, CL_PIPE_FULL_INTEL, "the pipe is full"),
    ENTRY(-1107, CL_PIPE_EMPTY_INTEL, "the pipe is empty"),
    ENTRY(-1108, CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM, "a command ended itself"),
    ENTRY(-1121, CL_CONTEXT_TERMINATED_KHR, "the context has been terminated"),
    ENTRY(-1126, CL_CANCELLED_IMG, "the command has been cancelled"),
    ENTRY(-1138, CL_INVALID_COMMAND_BUFFER_KHR, "invalid command buffer"),
    ENTRY(-1139, CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, "invalid wait list of sync points"),
    ENTRY(-1140, CL_INCOMPATIBLE_COMMAND_QUEUE_KHR,
          "the command queue does not fit the command buffer"),
    ENTRY(-1141, CL_INVALID_MUTABLE_COMMAND_KHR, "invalid mutable command"),
    ENTRY(-1142, CL_INVALID_SEMAPHORE_KHR, "invalid semaphore"),
    /* Returned by NVIDIA's driver; no header defines it. */
    {-9999, NULL, "a kernel read or wrote memory that is not its own (NVIDIA's status -9999)"},
};

static const status_entry *find(int status)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i)
        if (entries[i].code == status)
            return &entries[i];
    return NULL;
}

const char *sbn_status_name(int status)
{
    static _Thread_local char number[16];
    const status_entry *entry = find(status);
    if (entry && entry->name)
        return entry->name;
    snprintf(number, sizeof number, "%d", status);
    return number;
}

const char *sbn_strerror(int status)
{
    static _Thread_local char phrase[32];
    const status_entry *entry = find(status);
    if (entry)
        return entry->phrase;
    snprintf(phrase, sizeof phrase, "unknown status %d", status);
    return phrase;
}
