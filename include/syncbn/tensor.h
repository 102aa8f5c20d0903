/*
 * Tensors: how a caller tells the library where data lies on a device.
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

#include <syncbn/error.h>

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
 * How the elements of x, y, dy, dx, the residual and its gradient are stored. All arithmetic is
 * that of floats: an element is widened exactly when it is read, and a result is rounded once, to
 * the nearest, ties to even, when it is written. Subnormal halves keep their values; subnormal
 * bfloat16s are denormal floats, which some devices flush. NaN stays NaN (its payload may change),
 * and a result beyond the largest finite element becomes an infinity, as IEEE 754 says. No device
 * needs cl_khr_fp16.
 */
typedef enum sbn_type {
    SBN_F32 = 0, /* float: IEEE 754 binary32 */
    SBN_F16 = 1, /* half: IEEE 754 binary16 */
    SBN_BF16 = 2 /* bfloat16: the upper half of a float */
} sbn_type;

/*
 * A range of elements in an OpenCL buffer, of the same context as the replica's queue:
 * floats, or in tensors of the shard's shape the layer's type. The buffer stays the caller's.
 * How many elements the range has follows from what it is used for. This struct is a part
 * of others and never grows: it has no `size`.
 */
typedef struct sbn_buffer {
    struct _cl_mem *mem; /* a cl_mem; NULL: no buffer */
    size_t offset;       /* of the first element, in elements */
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
 * In place. dx or residual_grad may be dy: the same buffer and offset. y may be x in
 * sbn_evaluate, in sbn_recompute, and in sbn_forward of a layer with from_output
 * (batchnorm.h), or in evaluation or frozen: without from_output its backward pass then
 * cannot read x, so that it must not be asked for gradients of weight and bias, and the layer
 * must have no activation, or also a residual. The results have the same bits as apart.
 *
 * Views. x, y, dy and dx may each be a slice of the channels of a wider tensor, as where
 * outputs are concatenated. The pitch is the number of elements from one sample to the next
 * (channels first, and tensors without space) or from one pixel to the next (channels last).
 * It is at least the number of elements that a sample or pixel of `shape` has, and exceeds it
 * by at most 2^31; 0 stands for this number. The offset is that of the slice's first element. Elements between the samples
 * or pixels of a view are not written, and their values do not matter. Views of one buffer
 * with the same pitch may interleave, if they share no element; with different pitches, the
 * ranges from their first to their last elements must not overlap. A tensor that is written
 * over another one has the other's pitch. The residual and its gradient have no pitch, so
 * that the gradient may be written over dy only where dy is dense. The results have the bits
 * of dense tensors. In the GPU form the first pass that sums over a view compiles kernels.
 *
 * Events. The pass's commands wait for `wait_list`, which must cover inputs and
 * outputs. If `event` is not NULL it receives an event that completes with the last
 * of these commands; the caller releases it. After an error *event is NULL. On an
 * in-order queue neither is needed. The library flushes queues and never finishes
 * them.
 */
typedef struct sbn_shard {
    size_t size;       /* sizeof(sbn_shard) */
    int dims;          /* how many numbers of `shape` count: 2 ... 5 */
    size_t shape[5];   /* N, C, then space; N or an extent of space may be 0: no values,
                               whatever the other extents are */
    sbn_buffer x, y;   /* of `shape` and the layer's type */
    sbn_buffer dy, dx; /* of `shape` and the layer's type */
    /* Of `shape` and the layer's type, where the layer adds a residual; else not accessed. */
    sbn_buffer residual;
    sbn_buffer residual_grad;           /* mem NULL: not wanted */
    sbn_buffer weight;                  /* gamma: C floats; read if the layer is affine */
    sbn_buffer bias;                    /* beta: C floats; read if the layer is affine */
    sbn_buffer weight_grad;             /* C floats; mem NULL: not wanted */
    sbn_buffer bias_grad;               /* C floats; mem NULL: not wanted */
    uint32_t num_wait;                  /* events in wait_list */
    struct _cl_event *const *wait_list; /* a const cl_event *; not read if num_wait is 0 */
    struct _cl_event **event;           /* a cl_event *, or NULL */
    /* Elements from one sample or pixel of a view to the next; 0: dense. */
    size_t x_pitch, y_pitch, dy_pitch, dx_pitch;
} sbn_shard;

#define SBN_SHARD_INIT \
    { \
        sizeof(sbn_shard), 0, {0, 0, 0, 0, 0}, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT, 0, NULL, NULL, 0, 0, 0, 0 \
    }

/*
 * Writes SBN_SHARD_INIT to a struct of `size` bytes, such as an element of an array:
 *
 *   for (size_t r = 0; r < replicas; ++r)
 *       sbn_shard_init(&shards[r], sizeof shards[r]);
 */
SBN_API int sbn_shard_init(sbn_shard *shard, size_t size);

#ifdef __cplusplus
}
#endif

#endif
