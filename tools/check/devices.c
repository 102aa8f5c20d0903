#include "check/devices.h"

#include <stdlib.h>
#include <string.h>

static cl_int ask(int of_platform, void *object, cl_uint what, size_t size, void *value,
                  size_t *needed)
{
    return of_platform ? clGetPlatformInfo(object, what, size, value, needed)
                       : clGetDeviceInfo(object, what, size, value, needed);
}

/* A string of the driver's, trimmed; "" where it has none. NULL without memory. */
static char *text_of(int of_platform, void *object, cl_uint what)
{
    size_t size = 0;
    if (ask(of_platform, object, what, 0, NULL, &size))
        size = 0;
    char *text = calloc(size + 1, 1);
    if (text && size && ask(of_platform, object, what, size, text, NULL))
        *text = 0;
    if (text) {
        char *from = text + strspn(text, " ");
        memmove(text, from, strlen(from) + 1);
        for (size_t end = strlen(text); end && text[end - 1] == ' ';)
            text[--end] = 0;
    }
    return text;
}

static int fill_device(device_info *d)
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
    d->name = text_of(0, d->id, CL_DEVICE_NAME);
    d->vendor = text_of(0, d->id, CL_DEVICE_VENDOR);
    d->driver = text_of(0, d->id, CL_DRIVER_VERSION);
    d->version = text_of(0, d->id, CL_DEVICE_VERSION);
    d->usable = sbn_device_check(d->id) == SBN_SUCCESS;
    d->reason = strdup(d->usable ? "" : sbn_last_error());
    return d->name && d->vendor && d->driver && d->version && d->reason ? SBN_SUCCESS
                                                                        : SBN_OUT_OF_MEMORY;
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
    if (grown) {
        list->device = grown;
        memset(grown + list->devices, 0, count * sizeof *grown);
    }
    int status = ids && grown ? clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, count, ids, NULL)
                              : SBN_OUT_OF_MEMORY;
    for (cl_uint i = 0; i < count && !status; ++i) {
        device_info *d = &list->device[list->devices++];
        d->id = ids[i];
        d->platform = platform;
        status = fill_device(d);
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
        p->name = text_of(1, ids[i], CL_PLATFORM_NAME);
        p->vendor = text_of(1, ids[i], CL_PLATFORM_VENDOR);
        p->version = text_of(1, ids[i], CL_PLATFORM_VERSION);
        status = p->name && p->vendor && p->version ? add_devices(list, ids[i], i)
                                                    : SBN_OUT_OF_MEMORY;
    }
    free(ids);
    if (status)
        devices_free(list);
    return status;
}

void devices_free(device_list *list)
{
    for (size_t i = 0; i < list->platforms; ++i) {
        free(list->platform[i].name);
        free(list->platform[i].vendor);
        free(list->platform[i].version);
    }
    for (size_t i = 0; i < list->devices; ++i) {
        free(list->device[i].name);
        free(list->device[i].vendor);
        free(list->device[i].driver);
        free(list->device[i].version);
        free(list->device[i].reason);
    }
    free(list->platform);
    free(list->device);
    memset(list, 0, sizeof *list);
}
