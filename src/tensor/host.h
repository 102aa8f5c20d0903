/*
 * A shard's memory of the host, from before a call's first command to behind its last. Equal
 * addresses become one buffer and offset, so that what is in place stays so.
 */
#pragma once

#include "tensor/shard.h"

typedef struct sbn_host_buffer {
    void *address;
    size_t size;
    int written;
    cl_mem mem;
} sbn_host_buffer;

typedef struct sbn_host_buffers {
    sbn_host_buffer of[SBN_MAX_USES];
    size_t count; /* may be 0, of an empty shard */
    int open;     /* 0: the shard is not in memory of the host */
} sbn_host_buffers;

/*
 * Puts buffers of OpenCL in the place of a checked shard's addresses, and none in that of those that
 * a pass of a kind with these `needs` does not access. Does nothing for other shards. After an error
 * it is closed, too; `operation` begins the sentence.
 */
int sbn__host_open(sbn_host_buffers *buffers, const sbn_batchnorm *layer, sbn_replica *replica,
                   sbn_shard *shard, const sbn_shape *shape, unsigned needs, const char *operation);

/* Where the floats of a shard's buffer are; NULL: it is none of these. */
float *sbn__host_floats(const sbn_host_buffers *buffers, const sbn_buffer *buffer);

/*
 * Waits for the replica's queue, of which `last` is a command that must not have failed, or NULL; what
 * was written is then in the memory, of which nothing is held. Does nothing for other shards.
 */
int sbn__host_close(sbn_host_buffers *buffers, sbn_replica *replica, cl_event last);
