/* Compiled programs as bytes: what they depend on, and the way from and to OpenCL. */
#ifndef SBN_DEVICE_BINARY_H
#define SBN_DEVICE_BINARY_H

#include <syncbn/group.h>

#include "device/opencl.h"
#include "device/cache.h"

/* Texts that are compiled together. */
typedef struct sbn_sources {
    const char *texts[32];
    size_t lengths[32];
    cl_uint count;
} sbn_sources;

/* Everything that could change the binary; 0 if that cannot be known. */
int sbn__binary_key(sbn_bytes *key, cl_device_id device, const sbn_sources *sources,
                    const char *options);

/* A built program from its binary, or NULL. */
cl_program sbn__binary_load(cl_context context, cl_device_id device, const char *options,
                            const sbn_bytes *binary);

/* The binary of a built program; 0 if the driver gives none. */
int sbn__binary_of(cl_program program, cl_device_id device, sbn_bytes *binary);

#endif
