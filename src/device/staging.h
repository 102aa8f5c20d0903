/*
 * Host memory that devices copy to and from at full speed and without holding
 * up the caller: OpenCL's own (pinned by drivers where that matters, NVIDIA's
 * for one), mapped for as long as it lives.
 */
#ifndef SBN_DEVICE_STAGING_H
#define SBN_DEVICE_STAGING_H

#include "device/device.h"

typedef struct sbn_staging {
    void *at;
    size_t size;
    cl_mem mem;
    cl_command_queue queue; /* the replica's, for transfer_queue */
} sbn_staging;

/* At least `size` bytes: kept when large enough, else made anew, and what they held is lost. */
int sbn__staging_reserve(sbn_replica *replica, sbn_staging *staging, size_t size);
void sbn__staging_release(sbn_staging *staging);

#endif
