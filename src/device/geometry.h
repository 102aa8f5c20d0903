/* How a shard lies in memory and how the kernels cut it. No OpenCL objects here. */
#ifndef SBN_DEVICE_GEOMETRY_H
#define SBN_DEVICE_GEOMETRY_H

#include <syncbn/pass.h>

#include "device/device.h"

typedef struct sbn_geometry {
    size_t samples, channels, plane; /* plane: elements of one channel of one sample */
    size_t first, total;          /* a chunk: `channels` of the layer's `total`, from `first` on */
    size_t ahead, ahead_channels; /* step 3 fetches these, from first + ahead on, to the cache */
    size_t values;                /* samples x plane */
    size_t elements;              /* values x channels */
    sbn_layout layout;            /* planes of one element are rows of channels in either */
    cl_uint blocks;               /* per plane */
    cl_uint numbers;              /* blocks of a channel in all */
    cl_float last_reciprocal;     /* 1 / elements of a plane's last block */
} sbn_geometry;

/* Checks the shape against the layer's channels. The sentence begins with `who`. */
int sbn__geometry_of(sbn_geometry *geometry, const sbn_shard *shard, size_t channels,
                     sbn_layout layout, const char *who);

/* `channels` of a whole geometry, from `first` on. */
sbn_geometry sbn__geometry_chunk(const sbn_geometry *whole, size_t first, size_t channels);

/*
 * How many channels a pass should reduce and apply at a time, so that what it reads a second time
 * comes from the device's cache: all of them where that does not pay. The pass reads `tensors` of
 * this geometry.
 */
size_t sbn__chunk_channels(const sbn_geometry *whole, const sbn_replica *replica, size_t tensors);

/* "(2,64,7,7)" */
void sbn__print_shape(const sbn_shard *shard, char *out, size_t size);

/* Work-groups of a reduction (cl/batch.cl, cl/rows.cl). */
typedef struct sbn_slices {
    size_t groups[2];
    cl_uint count, per_slice;
    cl_uint strip; /* channels of a group */
} sbn_slices;

sbn_slices sbn__slices_of(const sbn_geometry *geometry, const sbn_replica *replica,
                          size_t words_per_channel);

/* Work-groups of an apply kernel (cl/tiles.cl): which walk, and how much each group does. */
typedef struct sbn_tiles {
    int walk;
    size_t groups[2];
    cl_ulong length;   /* elements of a run, or rows */
    cl_uint per_group; /* elements of a group, or rows */
    cl_uint stream;    /* results go past the caches */
} sbn_tiles;

sbn_tiles sbn__tiles_of(const sbn_geometry *geometry, const sbn_replica *replica);

#endif
