/* The shape of a shard, checked and counted. */
#pragma once

#include <syncbn/pass.h>

#include "program/opencl.h"

typedef struct sbn_shape {
    size_t samples, channels, plane; /* plane: elements of one channel of one sample */
    size_t values;                   /* samples x plane */
    size_t elements;                 /* values x channels */
    sbn_layout layout;               /* NHWC also for planes of one element */
    /* Elements of a row, a sample (NCHW) or a pixel, and the number of rows. */
    size_t row, rows;
    cl_uint x_gap, y_gap, dy_gap, dx_gap; /* elements of others between rows; 0: dense */
    sbn_type type;
    int in_place;             /* the output lies over an input */
    int samples_apart;        /* work-groups of step 3 must not take parts of several samples */
    cl_uint blocks;           /* per plane */
    cl_uint channel_blocks;   /* of a channel in all samples */
    cl_float last_reciprocal; /* 1 / elements of a plane's last block */
} sbn_shape;

/* Checks the shape against the layer's channels. The sentence begins with `who`. */
int sbn__shape_of(sbn_shape *shape, const sbn_shard *shard, size_t channels, sbn_layout layout,
                  sbn_type type, const char *who);

/* "(2,64,7,7)", of a shard whose dimensions are checked */
void sbn__print_shape(const sbn_shard *shard, char *out, size_t size);
