/* Which OpenCL devices to train on. */
#pragma once

#include <stddef.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

enum { MOST_DEVICES = 64 };

struct choice {
    cl_device_id id;
    cl_device_type type;
    int number; /* in --devices and in `syncbn devices`: counted through all platforms */
    int platform;
    char name[128];
    char platform_name[128];
    char reason[256]; /* why syncbn cannot use it; empty if it can */
};

/* All devices of all platforms. Returns their number. */
size_t devices_find(struct choice *found);

/*
 * Leaves those to use at the front of `found` and returns their number, at
 * least one. `wanted` is the value of --devices; *why receives the reason in words.
 */
size_t devices_choose(struct choice *found, size_t count, const char *wanted, const char **why);
