/*
 * What a forward pass saves for backward and recomputation: shapes, moments, coefficients and masks.
 *
 * A mask (cl/common/fusion.cl) is that of a layer with a residual and an activation, on a replica's device.
 * Commands on it are chained by those on the table of coefficients, which the same kernels read.
 */
#pragma once

#include <syncbn/pass.h>

#include "layer/moments.h"
#include "plan/shape.h"

typedef struct sbn_mask_rows {
    cl_ulong length, reciprocal; /* elements of a row; (2^64 - 1) / length */
    cl_uint padding;             /* bits that a row has more */
} sbn_mask_rows;

typedef struct sbn_mask {
    sbn_device_buffer words, larger; /* `larger`: for the pass that is prepared, or none */
    sbn_mask_rows rows, next;        /* `next`: of the pass that is prepared */
} sbn_mask;

struct sbn_saved {
    sbn_object object;
    sbn_batchnorm *layer;
    uint32_t generation; /* of the layer when the table was made */
    int filled;          /* by a forward that has ended */
    int frozen;          /* filled with running statistics, as constants */
    int used;            /* passes under way that read or fill it */
    int filling;         /* one of them fills it */
    uint32_t pass;       /* the forward's number in the group, */
    uint32_t place;      /* and the layer's place in it */
    uint64_t count;
    sbn_saved_moments *moments;
    sbn_shape *shapes;       /* per replica */
    sbn_mask *masks;         /* per replica; empty unless the layer needs them */
    sbn_channel_table table; /* coefficients */
};

/* Moves saved statistics to the current group of their layer; their content is lost. */
int sbn__saved_follow(sbn_saved *saved);

/*
 * Brings the host's copy of the moments up to date: waits for the commands that have written the
 * table, which write them too.
 */
int sbn__saved_read(const sbn_saved *saved);

/* Checks saved statistics that a pass of `layer` is to read: filled by that layer, and not being filled. */
int sbn__check_filled(const sbn_saved *saved, const sbn_batchnorm *layer);

/* The shards must have the shapes of the forward that filled `saved`. */
int sbn__check_same_shapes(const sbn_saved *saved, const sbn_shape *shapes, const char *operation);

/* 1 if rows of this shape are padded, of a form's masks. */
int sbn__mask_is_padded(const sbn_shape *shape, sbn_kernel_form form);

/* Makes room for the mask of a whole shape; what there is stays until sbn__mask_begin. */
int sbn__mask_prepare(sbn_mask *mask, sbn_replica *replica, const sbn_shape *shape);

/* The rows of a mask of `row` elements each, in words of a form; returns the bytes of `elements`. */
size_t sbn__mask_layout(sbn_mask_rows *rows, size_t row, size_t elements, sbn_kernel_form form);

/* A forward pass is to write it. */
void sbn__mask_begin(sbn_mask *mask);
