/*
 * How a shape is cut into work-groups on a device. Only this module decides it, from the
 * shape and the device's properties. It affects speed alone: any plan gives the same bits.
 */
#ifndef SBN_DEVICE_LAUNCH_PLAN_H
#define SBN_DEVICE_LAUNCH_PLAN_H

#include "device/device.h"
#include "device/shape.h"

/* Work-groups of a reduction: (strips of channels, slices of the samples). */
typedef struct sbn_reduce_plan {
    int reduction; /* SBN_REDUCE_... */
    size_t work_groups[2];
    cl_uint strip;      /* channels of a work-group; GPU form: a power of two, ... */
    cl_uint log2_strip; /* ... of this exponent */
    cl_uint slices;     /* each writes accumulators of its own, which are added later */
    /* CPU form: samples of a slice, or blocks (cl/cpu/reduce_nchw.cl, cl/cpu/reduce_nhwc.cl); GPU: blocks. */
    cl_uint per_slice;
} sbn_reduce_plan;

/* `accumulator_length`: int64s per channel. */
sbn_reduce_plan sbn__plan_reduce(const sbn_shape *shape, const sbn_replica *replica,
                                 size_t accumulator_length);

/* Work-groups of an apply kernel, and how they walk over the tensor: cl/cpu/apply_walk.cl, cl/gpu/apply.cl. */
typedef struct sbn_apply_plan {
    int walk; /* SBN_WALK_... */
    cl_uint dimensions;
    size_t work_groups[3];
    cl_ulong length;        /* flat: elements of a run; rows: how many there are */
    cl_uint per_work_group; /* flat, planes: elements; rows: rows */
    cl_uint non_temporal;   /* stores bypass the caches, if the compiler can do that */
} sbn_apply_plan;

sbn_apply_plan sbn__plan_apply(const sbn_shape *shape, const sbn_replica *replica);

/* The two of the GPU form, for sbn__plan_reduce and sbn__plan_apply. */
sbn_reduce_plan sbn__plan_reduce_gpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length);
sbn_apply_plan sbn__plan_apply_gpu(const sbn_shape *shape, const sbn_replica *replica);

/*
 * Channels of a work-group that does a whole pass of its channels, of a replica that is alone, in
 * one launch (cl/cpu/forward_whole.cl): 0 where separate launches are faster, or there is no such
 * kernel. The pass reads `tensors` of this shape.
 */
size_t sbn__plan_whole(const sbn_shape *shape, const sbn_replica *replica, size_t tensors);

#endif
