/*
 * Tensors: how a caller tells the library where float32 data lies on a device.
 *
 * Headers of this library do not include OpenCL's, so that they leave a program's
 * choice of CL_TARGET_OPENCL_VERSION alone: include <CL/cl.h> yourself, before or
 * after. The types below are OpenCL's own handles: struct _cl_mem * is a cl_mem,
 * struct _cl_event * a cl_event, struct _cl_command_queue * a cl_command_queue,
 * struct _cl_device_id * a cl_device_id.
 */
#ifndef SYNCBN_TENSOR_H
#define SYNCBN_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_mem;
struct _cl_event;
struct _cl_command_queue;
struct _cl_device_id;

/* How a tensor lies in memory. Shapes are given in the order N, C, space in both. */
typedef enum sbn_layout {
    SBN_LAYOUT_NCHW = 0, /* channels first: (N,C), (N,C,L), (N,C,H,W), (N,C,D,H,W) */
    SBN_LAYOUT_NHWC = 1  /* channels last: (N,C), (N,L,C), (N,H,W,C), (N,D,H,W,C) */
} sbn_layout;

/*
 * A range of floats in an OpenCL buffer, of the same context as the replica's
 * queue. The buffer stays the caller's. How many floats the range has follows from
 * what it is used for. This struct is a part of others and never grows: it has no
 * `size`.
 */
typedef struct sbn_buffer {
    struct _cl_mem *mem; /* a cl_mem; NULL: no buffer */
    size_t offset;       /* of the first float, in floats */
} sbn_buffer;

#define SBN_BUFFER_INIT \
    { \
        NULL, 0 \
    }

/*
 * One replica's shard: its part of the batch. A pass reads and writes only the
 * buffers that its comment names; the others may stay zero. None, of any replica, may
 * overlap one that the pass writes: SBN_INVALID_ARGUMENT names both. (Sub-buffers of one
 * buffer count as buffers of their own.)
 *
 * Events. The pass's commands wait for `wait_list`, which must cover inputs and
 * outputs. If `event` is not NULL it receives an event that completes with the last
 * of these commands; the caller releases it. After an error *event is NULL. On an
 * in-order queue neither is needed. The library flushes queues and never finishes
 * them.
 */
typedef struct sbn_shard {
    size_t size;            /* sizeof(sbn_shard) */
    int dims;               /* how many numbers of `shape` count: 2 ... 5 */
    size_t shape[5];        /* N, C, then space; N or an extent of space may be 0: no values,
                               whatever the other extents are */
    sbn_buffer x, y;        /* of `shape` */
    sbn_buffer dy, dx;      /* of `shape` */
    sbn_buffer weight;      /* gamma: C floats; read if the layer is affine */
    sbn_buffer bias;        /* beta: C floats; read if the layer is affine */
    sbn_buffer weight_grad; /* C floats; mem NULL: not wanted */
    sbn_buffer bias_grad;   /* C floats; mem NULL: not wanted */
    uint32_t num_wait;      /* events in wait_list */
    struct _cl_event *const *wait_list; /* a const cl_event *; not read if num_wait is 0 */
    struct _cl_event **event;           /* a cl_event *, or NULL */
} sbn_shard;

#define SBN_SHARD_INIT \
    { \
        sizeof(sbn_shard), 0, {0, 0, 0, 0, 0}, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            0, NULL, NULL \
    }

#ifdef __cplusplus
}
#endif

#endif
