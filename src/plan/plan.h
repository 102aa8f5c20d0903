/*
 * How a shape is cut into work-groups on a device. src/plan/launch_plan.h alone decides it, from
 * the shape and the device's properties. It affects speed alone: any plan gives the same bits.
 */
#pragma once

#include "device/device.h"
#include "plan/shape.h"

/* Work-groups of a reduction: (strips of channels, slices of the samples). */
typedef struct sbn_reduce_plan {
    int reduction; /* SBN_REDUCE_... */
    size_t work_groups[2];
    cl_uint strip;      /* channels of a work-group; GPU form: a power of two, ... */
    cl_uint log2_strip; /* ... of this exponent */
    cl_uint slices;     /* each writes accumulators of its own, which are added later */
    int sums_up; /* GPU form: the last work-group of a strip adds its slices, or has the only one */
    int adds_slices; /* where devices combine: by a command, before the one that combines */
    /* CPU form: samples of a slice, or blocks (cl/cpu/reduce_nchw.cl, cl/cpu/reduce_nhwc.cl); GPU: blocks. */
    cl_uint per_slice;
} sbn_reduce_plan;

/* Work-groups of an apply kernel, and how they walk over the tensor: cl/cpu/apply_walk.cl, cl/gpu/apply.cl. */
typedef struct sbn_apply_plan {
    int walk; /* SBN_WALK_... */
    cl_uint dimensions;
    size_t work_groups[3];
    cl_ulong length;        /* flat: elements of a run; rows: how many there are */
    cl_uint per_work_group; /* flat, planes: elements; rows: rows */
    cl_uint non_temporal;   /* stores bypass the caches, if the compiler can do that */
} sbn_apply_plan;

/* Some devices allow at most 65535 work-groups in the second dimension. */
enum { SBN_MOST_ROWS_OF_WORK_GROUPS = 32768 };

/*
 * Work-groups that keep a device busy: of a CPU, enough to balance the load of its units; of a GPU,
 * NVIDIA's or AMD's, about half of those that it holds, which are at most 8 of 256 items a unit.
 */
size_t sbn__work_groups_wanted(const sbn_replica *replica);

/*
 * Slices that a shard may have, at least 1. Each leaves accumulators that must be written, read and
 * added: all slices' may be this fraction of the tensor, or `few_bytes` while units have fewer than
 * two work-groups. `strips`: of channels, each of which has that many slices.
 */
size_t sbn__slices_allowed(const sbn_shape *shape, const sbn_replica *replica, size_t fraction,
                           size_t few_bytes, size_t accumulator_length, size_t strips);
