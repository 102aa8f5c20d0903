#include "check/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A string of the driver's, trimmed; "" where it has none. */
static void text_of(int of_platform, void *object, cl_uint what, char text[DEVICE_TEXT])
{
    const cl_int status = of_platform ? clGetPlatformInfo(object, what, DEVICE_TEXT, text, NULL)
                                      : clGetDeviceInfo(object, what, DEVICE_TEXT, text, NULL);
    const size_t from = status ? 0 : strspn(text, " ");
    size_t length = status ? 0 : strlen(text + from);
    memmove(text, text + from, length);
    while (length && text[length - 1] == ' ')
        --length;
    text[length] = 0;
}

static void fill_device(device_info *d)
{
    cl_device_type type = 0;
    clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    clGetDeviceInfo(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof d->compute_units, &d->compute_units,
                    NULL);
    clGetDeviceInfo(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof d->memory, &d->memory, NULL);
    d->type = type & CL_DEVICE_TYPE_GPU           ? "gpu"
              : type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
              : type & CL_DEVICE_TYPE_CPU         ? "cpu"
                                                  : "custom";
    cl_uint width = 0;
    clGetDeviceInfo(d->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, NULL);
    d->form = type & CL_DEVICE_TYPE_CPU && width > 1 ? SBN_FORM_CPU : SBN_FORM_GPU;
    text_of(0, d->id, CL_DEVICE_NAME, d->name);
    text_of(0, d->id, CL_DEVICE_VENDOR, d->vendor);
    text_of(0, d->id, CL_DRIVER_VERSION, d->driver);
    text_of(0, d->id, CL_DEVICE_VERSION, d->version);
    d->usable = sbn_device_check(d->id) == SBN_SUCCESS;
    snprintf(d->reason, sizeof d->reason, "%s", d->usable ? "" : sbn_last_error());
}

/* Appends the devices of one platform to the list. */
static int add_devices(device_list *list, cl_platform_id id, size_t platform)
{
    cl_uint count = 0;
    /* CL_DEVICE_NOT_FOUND, or a platform that fails otherwise: one without devices. */
    if (clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, NULL, &count))
        count = 0;
    list->platform[platform].devices = count;
    if (count == 0)
        return SBN_SUCCESS;
    cl_device_id *ids = calloc(count, sizeof *ids);
    device_info *grown = realloc(list->device, (list->devices + count) * sizeof *grown);
    list->device = grown ? grown : list->device;
    int status = ids && grown ? clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, count, ids, NULL)
                              : SBN_OUT_OF_MEMORY;
    for (cl_uint i = 0; i < count && !status; ++i) {
        device_info *d = &list->device[list->devices++];
        *d = (device_info){.id = ids[i], .platform = platform};
        fill_device(d);
    }
    free(ids);
    return status;
}

int devices_list(device_list *list)
{
    cl_uint count = 0;
    memset(list, 0, sizeof *list);
    /* The ICD loader reports a machine without platforms as an error (-1001). */
    if (clGetPlatformIDs(0, NULL, &count) || count == 0)
        return SBN_SUCCESS;
    cl_platform_id *ids = calloc(count, sizeof *ids);
    list->platform = calloc(count, sizeof *list->platform);
    int status = ids && list->platform ? clGetPlatformIDs(count, ids, NULL) : SBN_OUT_OF_MEMORY;
    for (cl_uint i = 0; i < count && !status; ++i) {
        platform_info *p = &list->platform[list->platforms++];
        text_of(1, ids[i], CL_PLATFORM_NAME, p->name);
        text_of(1, ids[i], CL_PLATFORM_VENDOR, p->vendor);
        text_of(1, ids[i], CL_PLATFORM_VERSION, p->version);
        status = add_devices(list, ids[i], i);
    }
    free(ids);
    if (status)
        devices_free(list);
    return status;
}

void devices_free(device_list *list)
{
    free(list->platform);
    free(list->device);
    memset(list, 0, sizeof *list);
}
