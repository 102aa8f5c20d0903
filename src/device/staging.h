/*
 * Host memory for fast copies that do not block the caller: allocated by OpenCL (pinned by drivers
 * such as NVIDIA's) and mapped while it exists.
 */
#pragma once

#include "device/commands.h"

typedef struct sbn_staging {
    void *at;
    size_t size;
    cl_mem mem;
    cl_command_queue queue; /* transfer_queue, retained: saved statistics may outlive the replica */
} sbn_staging;

/* Makes room for `size` bytes. If it must grow, the content is lost. */
int sbn__staging_reserve(sbn_replica *replica, sbn_staging *staging, size_t size);
void sbn__staging_release(sbn_staging *staging);
