#include "device/device.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/build.h"
#include "program/programs.h"

int sbn__check_cl(const sbn_replica *replica, const char *call, cl_int code)
{
    return code == CL_SUCCESS
               ? SBN_SUCCESS
               : sbn__fail(code, "replica %zu: %s: %s", replica->index, call, sbn_strerror(code));
}

int sbn__opened(const sbn_replica *replica, const char *call, cl_int code)
{
    if (code == CL_SUCCESS)
        sbn__handle_opened();
    return sbn__check_cl(replica, call, code);
}

static int check_device(cl_device_id device)
{
    char profile[sizeof "EMBEDDED_PROFILE"] = "", version[1024] = "";
    cl_bool available, compiler, little;
    cl_device_type type;
    const struct {
        cl_device_info info;
        size_t size;
        void *value;
    } questions[] = {
        {CL_DEVICE_PROFILE, sizeof profile, profile},
        {CL_DEVICE_VERSION, sizeof version, version},
        {CL_DEVICE_AVAILABLE, sizeof available, &available},
        {CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler},
        {CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little},
        {CL_DEVICE_TYPE, sizeof type, &type},
    };
    for (size_t i = 0; i < sizeof questions / sizeof *questions; ++i) {
        const cl_int code = clGetDeviceInfo(device, questions[i].info, questions[i].size,
                                            questions[i].value, NULL);
        if (code != CL_SUCCESS)
            return sbn__fail(code, "clGetDeviceInfo(0x%x): %s", (unsigned)questions[i].info,
                             sbn_strerror(code));
    }
    if (strcmp(profile, "FULL_PROFILE") != 0)
        return sbn__fail(
            SBN_UNSUPPORTED_DEVICE,
            "the device has the profile %s; FULL_PROFILE is needed, for 64-bit integers", profile);
    if (strncmp(version, "OpenCL ", 7) != 0 || strncmp(version, "OpenCL 1.0", 10) == 0 ||
        strncmp(version, "OpenCL 1.1", 10) == 0)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                         "the device offers \"%s\"; OpenCL 1.2 or later is needed", version);
    if (!available)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "the device says that it is not available");
    if (!compiler)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "the device has no compiler");
    /* Kernels have the halves of 64 bits in this order: add_word in cl/common/wide.cl. */
    if (!little)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "the device is big-endian");
    if (type & CL_DEVICE_TYPE_CUSTOM)
        return sbn__fail(SBN_UNSUPPORTED_DEVICE, "a custom device runs no OpenCL C");
    return SBN_SUCCESS;
}

int sbn_device_check(cl_device_id device)
{
    sbn_kernel_form form;
    sbn__error_clear();
    if (!device)
        return sbn__fail(SBN_INVALID_ARGUMENT, "device: expected a device, got NULL");
    const int status = check_device(device);
    return status ? status : sbn__program_form(device, SBN_FORM_AUTO, &form);
}

int sbn__replica_open(sbn_replica *replica, size_t index, cl_command_queue queue)
{
    replica->index = index;
    replica->largest_buffer = UINT64_MAX;
    if (!queue)
        return sbn__fail(SBN_INVALID_ARGUMENT, "queues[%zu]: expected a command queue, got NULL",
                         index);
    cl_uint units;
    cl_bool unified;
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof replica->context,
                                        &replica->context, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof replica->device,
                                     &replica->device, NULL);
    if (code == CL_INVALID_COMMAND_QUEUE)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "queues[%zu]: expected a command queue, got another handle", index);
    cl_command_queue_properties properties;
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                     NULL);
    /* First, because devices that it refuses may not know the other questions. */
    int status = code == CL_SUCCESS ? check_device(replica->device) : SBN_SUCCESS;
    if (status)
        return sbn__fail(status, "queues[%zu]: %s", index, sbn_last_error());
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(replica->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                               NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(replica->device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                               sizeof replica->cache_size, &replica->cache_size, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(replica->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified,
                               &unified, NULL);
    if (code != CL_SUCCESS)
        return sbn__check_cl(replica, "reading the queue's device", code);
    replica->compute_units = units ? units : 1;
    /* 0: it does not say. */
    replica->cache_size = replica->cache_size ? replica->cache_size : UINT64_MAX;
    replica->unified = unified != CL_FALSE;
    replica->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    status = sbn__opened(replica, "clRetainCommandQueue", clRetainCommandQueue(queue));
    if (status)
        return status;
    replica->queue = queue;
    replica->transfer_queue = clCreateCommandQueue(replica->context, replica->device, 0, &code);
    return sbn__opened(replica, "clCreateCommandQueue", code);
}

static void unload(sbn_kernels **kernels)
{
    if (*kernels)
        sbn__kernels_release(*kernels);
    sbn__free(*kernels);
    *kernels = NULL;
}

int sbn__replica_load(sbn_replica *replica, sbn_type type, int fusion, int part,
                      const sbn_group_config *config)
{
    sbn_kernels **kernels = &replica->kernels[type][sbn__variant_of(fusion, part)];
    if (*kernels)
        return SBN_SUCCESS;
    const sbn_kernels *first = replica->kernels[replica->kernels[type][0] ? type : SBN_F32][0];
    const sbn_program wanted = {
        .context = replica->context,
        .device = replica->device,
        .form = replica->form,
        .type = type,
        .fusion = fusion,
        .part = part,
        .without = first ? first->program->without : 0,
    };
    sbn_program *program;
    sbn_kernels *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("the kernels");
    int status = sbn__program_acquire(&wanted, config, &program);
    if (status) {
        sbn__free(made);
        return status;
    }
    *kernels = made;
    status = sbn__kernels_create(made, program);
    replica->counts_slices |= made->of[SBN_TEST_SLICES][0].kernel != NULL;
    if (status)
        unload(kernels);
    return status;
}

int sbn__replica_combines(const sbn_replica *replica)
{
    return replica->form == SBN_FORM_GPU ||
           replica->kernels[SBN_F32][0]->of[SBN_COMBINE][0].kernel != NULL;
}

void sbn__replica_close(sbn_replica *replica)
{
    for (int type = 0; type < SBN_TYPES; ++type)
        for (int variant = 0; variant < SBN_VARIANTS; ++variant)
            unload(&replica->kernels[type][variant]);
    for (size_t i = 0; i < SBN_HOST_MEMORIES; ++i)
        SBN_RELEASE(clReleaseMemObject, replica->host_memories[i].mem);
    SBN_RELEASE(clReleaseCommandQueue, replica->transfer_queue);
    SBN_RELEASE(clReleaseCommandQueue, replica->queue);
}
