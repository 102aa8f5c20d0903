/* How a share lies in memory and how the kernels cut it. No OpenCL objects here. */
#ifndef SBN_SRC_GEOMETRY_H
#define SBN_SRC_GEOMETRY_H

#include <syncbn/pass.h>

#include "device.h"

typedef struct sbn_geometry {
    size_t samples, channels, plane; /* plane: elements of one channel of one sample */
    size_t values;                   /* samples x plane */
    size_t elements;                 /* values x channels */
    sbn_layout layout;               /* planes of one element are rows of channels in either */
    cl_uint blocks;                  /* per plane */
    cl_uint numbers;                 /* blocks of a channel in all */
    cl_float last_reciprocal;        /* 1 / elements of a plane's last block */
} sbn_geometry;

/* Checks the shape against the layer's channels. The sentence begins with `who`. */
int sbn_geometry_of(sbn_geometry *geometry, const sbn_share *share, size_t channels,
                    sbn_layout layout, const char *who);

/* "(2,64,7,7)" */
void sbn_print_shape(const sbn_share *share, char *out, size_t size);

/* Work-groups of a reduction: groups of channels, slices of a channel's blocks. */
typedef struct sbn_slices {
    size_t groups[2];
    cl_uint count, per_slice;
} sbn_slices;

sbn_slices sbn_slices_of(const sbn_geometry *geometry, const sbn_replica *replica,
                         const sbn_kernel *kernel);

/* Work-groups of an apply kernel and its chunk sizes (cl/tiles.cl). */
typedef struct sbn_tiles {
    size_t groups[3];
    cl_uint chunk, channels_per_group; /* channels first */
    cl_uint rows_per_tile;             /* channels last */
} sbn_tiles;

sbn_tiles sbn_tiles_of(const sbn_geometry *geometry, const sbn_replica *replica);

#endif
