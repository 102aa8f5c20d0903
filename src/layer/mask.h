/*
 * The mask of a layer with a residual and an activation (cl/common/fusion.cl), on a replica's device: kept
 * by a forward pass, read by its backward passes. Commands on it are chained by those on the table
 * of coefficients, which the same kernels read.
 */
#ifndef SBN_LAYER_MASK_H
#define SBN_LAYER_MASK_H

#include "device/device.h"
#include "device/shape.h"

typedef struct sbn_mask_rows {
    cl_ulong length, reciprocal; /* elements of a row; (2^64 - 1) / length */
    cl_uint padding;             /* bits that a row has more */
} sbn_mask_rows;

typedef struct sbn_mask {
    sbn_device_buffer words, larger; /* `larger`: for the pass that is prepared, or none */
    sbn_mask_rows rows, next;        /* `next`: of the pass that is prepared */
} sbn_mask;

/* 1 if rows of this shape are padded, of a form's masks. */
int sbn__mask_is_padded(const sbn_shape *shape, sbn_kernel_form form);

/* Makes room for the mask of a whole shape; what there is stays until sbn__mask_begin. */
int sbn__mask_prepare(sbn_mask *mask, sbn_replica *replica, const sbn_shape *shape);

/* A forward pass is to write it. */
void sbn__mask_begin(sbn_mask *mask);

void sbn__mask_destroy(sbn_mask *mask);

#endif
