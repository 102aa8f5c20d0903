/*
 * What a layer's part of a pass keeps for each replica: the accumulators of steps 1 and 2, on the device and on the
 * host, whose memory is kept from pass to pass, and what ends with the pass. The functions take the replicas' array.
 */
#pragma once

#include "device/staging.h"
#include "tensor/host.h"

/* A reduction has left these accumulators: of each slice, or added up. */
typedef struct sbn_reduced {
    cl_mem mem;
    cl_uint slices; /* 0: none */
} sbn_reduced;

/* Of one replica. */
typedef struct sbn_work {
    sbn_device_buffer partial;         /* accumulators of each slice */
    sbn_device_buffer wide;            /* of the blocks that do not fit */
    int wide_is_clear;                 /* ... 0, when all that is enqueued is over */
    sbn_staging on_host, wide_on_host; /* copies, where the host combines */
    sbn_reduced reduced;
    cl_event last; /* the last command that uses any of these */
    cl_event next; /* takes its place when all replicas have enqueued theirs */

    /* Of the pass under way. */
    sbn_host_buffers host; /* what stands in the shard for memory of the host */
    cl_event ready;        /* after the caller's wait list */
    cl_event applied;      /* the last command of step 3 */
} sbn_work;

/* Blocks until the commands that use the memory are over, or have failed. */
void sbn__work_wait(const sbn_work *work, size_t replicas);

/* Waits for them; then the memory is free for another pass. */
void sbn__work_clear(sbn_work *work, size_t replicas);
