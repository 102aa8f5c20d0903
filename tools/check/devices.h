/* Every OpenCL platform and device of the machine, and whether it can be used. */
#pragma once

#include <syncbn.h>

#include "program/opencl.h"

/* The longest text of a driver, with its end. */
enum { DEVICE_TEXT = 1024 };

typedef struct device_info {
    cl_device_id id;
    size_t platform; /* index into platforms */
    char name[DEVICE_TEXT], vendor[DEVICE_TEXT], driver[DEVICE_TEXT], version[DEVICE_TEXT];
    const char *type; /* "cpu", "gpu", "accelerator", "custom" */
    cl_uint compute_units;
    cl_ulong memory;      /* bytes */
    sbn_kernel_form form; /* that SBN_FORM_AUTO would choose */
    int usable;
    char reason[DEVICE_TEXT]; /* why not */
} device_info;

typedef struct platform_info {
    char name[DEVICE_TEXT], vendor[DEVICE_TEXT], version[DEVICE_TEXT];
    size_t devices;
} platform_info;

/* Devices are numbered through all platforms: that is the number of --devices. */
typedef struct device_list {
    size_t platforms, devices;
    platform_info *platform;
    device_info *device;
} device_list;

/* Returns SBN_SUCCESS (also when there is no device at all), or a negative status. */
int devices_list(device_list *list);
void devices_free(device_list *list);
