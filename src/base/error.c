#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/opencl.h"

static _Thread_local char sentence[SBN_SENTENCE_SIZE];

void sbn__error_clear(void)
{
    sentence[0] = '\0';
}

int sbn__fail(int status, const char *format, ...)
{
    /* An argument may be the sentence itself. */
    char text[SBN_SENTENCE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(sentence, sizeof sentence, "%s", text);
    return status;
}

int sbn__fail_memory(const char *what)
{
    return sbn__fail(SBN_OUT_OF_MEMORY, "the host has no memory left for %s", what);
}

int sbn_set_last_error(int status, const char *text)
{
    return sbn__fail(status, "%s", text ? text : "");
}

const char *sbn_last_error(void)
{
    return sentence;
}

const char *sbn_version(void)
{
    return PACKAGE_VERSION;
}

#define NAME(status) \
    case status: return #status

const char *sbn_strerror(int status)
{
    switch (status) {
        NAME(SBN_SUCCESS);
        NAME(SBN_INVALID_ARGUMENT);
        NAME(SBN_OUT_OF_MEMORY);
        NAME(SBN_UNSUPPORTED_DEVICE);
        NAME(SBN_TOO_FEW_VALUES);
        NAME(SBN_DISAGREEMENT);
        NAME(SBN_REMOTE_ERROR);
        NAME(SBN_TIMEOUT);
        NAME(SBN_GROUP_FAILED);
        NAME(SBN_TRANSPORT_ERROR);
        NAME(SBN_IO_ERROR);
        NAME(SBN_INVALID_FILE);
        NAME(SBN_KEY_MISMATCH);
        NAME(SBN_ABORTED);
        NAME(CL_DEVICE_NOT_FOUND);
        NAME(CL_DEVICE_NOT_AVAILABLE);
        NAME(CL_COMPILER_NOT_AVAILABLE);
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        NAME(CL_OUT_OF_RESOURCES);
        NAME(CL_OUT_OF_HOST_MEMORY);
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE);
        NAME(CL_MEM_COPY_OVERLAP);
        NAME(CL_BUILD_PROGRAM_FAILURE);
        NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        NAME(CL_COMPILE_PROGRAM_FAILURE);
        NAME(CL_LINKER_NOT_AVAILABLE);
        NAME(CL_LINK_PROGRAM_FAILURE);
        NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        NAME(CL_INVALID_VALUE);
        NAME(CL_INVALID_DEVICE_TYPE);
        NAME(CL_INVALID_PLATFORM);
        NAME(CL_INVALID_DEVICE);
        NAME(CL_INVALID_CONTEXT);
        NAME(CL_INVALID_QUEUE_PROPERTIES);
        NAME(CL_INVALID_COMMAND_QUEUE);
        NAME(CL_INVALID_HOST_PTR);
        NAME(CL_INVALID_MEM_OBJECT);
        NAME(CL_INVALID_BINARY);
        NAME(CL_INVALID_BUILD_OPTIONS);
        NAME(CL_INVALID_PROGRAM);
        NAME(CL_INVALID_PROGRAM_EXECUTABLE);
        NAME(CL_INVALID_KERNEL_NAME);
        NAME(CL_INVALID_KERNEL_DEFINITION);
        NAME(CL_INVALID_KERNEL);
        NAME(CL_INVALID_ARG_INDEX);
        NAME(CL_INVALID_ARG_VALUE);
        NAME(CL_INVALID_ARG_SIZE);
        NAME(CL_INVALID_KERNEL_ARGS);
        NAME(CL_INVALID_WORK_DIMENSION);
        NAME(CL_INVALID_WORK_GROUP_SIZE);
        NAME(CL_INVALID_WORK_ITEM_SIZE);
        NAME(CL_INVALID_GLOBAL_OFFSET);
        NAME(CL_INVALID_EVENT_WAIT_LIST);
        NAME(CL_INVALID_EVENT);
        NAME(CL_INVALID_OPERATION);
        NAME(CL_INVALID_BUFFER_SIZE);
        NAME(CL_INVALID_GLOBAL_WORK_SIZE);
        NAME(CL_INVALID_PROPERTY);
        NAME(CL_INVALID_COMPILER_OPTIONS);
        NAME(CL_INVALID_LINKER_OPTIONS);
    default: return "unknown status";
    }
}
