/* Checks of the caller's shards: every buffer that a pass will access. */
#pragma once

#include "layer/batchnorm.h"
#include "tensor/use.h"

/* An element of a checked array of shards. */
static inline sbn_shard sbn__shard_at(const sbn_shard *shards, size_t r)
{
    sbn_shard shard;
    sbn__struct_get(&shard, sizeof shard, shards, r);
    return shard;
}

/* A backward pass needs this of a shard besides x. */
#define SBN_BACKWARD_NEEDS (SBN_NEEDS_DY | SBN_MAY_DX | SBN_NEEDS_WEIGHT | SBN_MAY_GRADIENTS)

/* `needs` of a pass, and what the layer's fusion accesses besides. */
unsigned sbn__needs_of(const sbn_batchnorm *layer, unsigned needs);

/*
 * Checks all shards against the layer and fills a shape for each. Nothing is enqueued. `operation` begins the sentence.
 */
int sbn__check_shards(const sbn_batchnorm *layer, const sbn_shard *shards, unsigned needs,
                      const char *operation, sbn_shape *shapes);

/* Waits until the inputs of a checked shard in memory of the host are there. */
int sbn__shard_wait(const sbn_replica *replica, const sbn_shard *shard);

/* Reads `count` floats of a checked shard, behind its wait list. Blocks. */
int sbn__shard_read(sbn_replica *replica, const sbn_shard *shard, const sbn_buffer *buffer,
                    size_t count, float *out);

/*
 * The replica's last command, for a caller who asks for an event. NULL: there was no command, and a
 * marker that covers the wait list takes its place.
 */
int sbn__make_last(sbn_replica *replica, const sbn_shard *shard, cl_event *last);
