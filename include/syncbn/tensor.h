/*
 * Tensors: how you tell the library where data lies on a device.
 *
 * These headers do not include OpenCL's, so that your program chooses CL_TARGET_OPENCL_VERSION:
 * include <CL/cl.h> yourself, before or after. The types below are OpenCL's own handles: struct
 * _cl_mem * is a cl_mem, struct _cl_event * a cl_event, struct _cl_command_queue * a
 * cl_command_queue, struct _cl_device_id * a cl_device_id.
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

/*
 * How a tensor lies in memory. sbn_shard's `shape` is N, C, then space in both layouts: 8 images of
 * 64 channels are {8, 64, 56, 56}, channels last too.
 */
typedef enum sbn_layout {
    SBN_LAYOUT_NCHW = 0, /* channels first: (N,C), (N,C,L), (N,C,H,W), (N,C,D,H,W) */
    SBN_LAYOUT_NHWC = 1  /* channels last: (N,C), (N,L,C), (N,H,W,C), (N,D,H,W,C) */
} sbn_layout;

/*
 * How the elements of x, y, dy, dx, the residual and its gradient are stored. All arithmetic is
 * that of floats: an element is widened exactly when it is read, and a result is rounded once, to
 * nearest even, when it is written. A result that is too large becomes an infinity. NaN stays NaN;
 * its payload may change. Subnormal halves keep their values; some devices flush subnormal
 * bfloat16s, as they flush denormal floats. No device needs cl_khr_fp16.
 */
typedef enum sbn_type {
    SBN_F32 = 0, /* float: IEEE 754 binary32 */
    SBN_F16 = 1, /* half: IEEE 754 binary16 */
    SBN_BF16 = 2 /* bfloat16: the upper half of a float */
} sbn_type;

/*
 * A range of elements in an OpenCL buffer of the queue's context. The elements are floats, or the
 * layer's type in tensors of the shard's shape. Their number follows from the use. Memory that a
 * buffer uses by CL_MEM_USE_HOST_PTR must be aligned to 16 bytes. The host must be allowed to read and
 * write it (no CL_MEM_HOST_...), except for tensors of the shard's shape. The buffer stays yours. This
 * struct is a part of others and never grows: it has no `size`.
 */
typedef struct sbn_buffer {
    struct _cl_mem *mem; /* a cl_mem; with SBN_MEMORY_HOST what SBN_HOST_BUFFER makes; NULL: none */
    size_t offset;       /* of the first element, in elements */
} sbn_buffer;

#define SBN_BUFFER_INIT \
    { \
        NULL, 0 \
    }

/*
 * A shard's buffer in memory of the host: shard.x = (sbn_buffer)SBN_HOST_BUFFER(values). Other structs
 * than sbn_shard take OpenCL's buffers alone.
 */
#define SBN_HOST_BUFFER(address) \
    { \
        (struct _cl_mem *)(address), 0 \
    }

/* Where the buffers of a shard are. */
typedef enum sbn_memory {
    SBN_MEMORY_DEVICE = 0, /* OpenCL's buffers */
    SBN_MEMORY_HOST = 1    /* memory of the host: SBN_HOST_BUFFER */
} sbn_memory;

/*
 * One replica's shard: its part of the batch, and the buffers that belong to it.
 *
 * Each pass says which buffers it reads and writes; the others may stay zero. A shard may be empty
 * (N or an extent of space is 0): then its tensors, weight and bias may stay zero, too. Its
 * weight_grad and bias_grad are still written, if you give them.
 *
 * In place. dx may be dy, and so may residual_grad: the same buffer and offset. y may be x in
 * sbn_evaluate and sbn_recompute, and in sbn_forward of a layer with from_output. In sbn_forward of
 * a layer in evaluation or frozen, y may be x as well, but then x is gone in the backward pass:
 * without from_output, ask for no weight_grad and bias_grad then, and let the layer have either no
 * activation, or an activation and a residual. The bits are the same as with separate buffers.
 *
 * No other buffer, of any replica, may overlap one that the pass writes: SBN_INVALID_ARGUMENT names
 * both. Sub-buffers of one buffer are not compared.
 *
 * Events. The pass's commands wait for `wait_list`, which must cover inputs and outputs. `event`,
 * if not NULL, receives an event that completes with the last of these commands; you release it.
 * After an error *event is NULL. As in OpenCL it must not be a place in `wait_list`: it is cleared
 * first. On an in-order queue you need neither. If an event of the list fails,
 * the pass's commands do not run and `event` fails; later passes on an in-order queue run all the
 * same, with what is in the buffers. The library flushes queues and never finishes them.
 *
 * Views (advanced). x, y, dy and dx may each be a slice of the channels of a wider tensor, as in a
 * concatenation. `offset` is that of the slice's first element. The pitch is the number of elements
 * from one sample to the next (channels first, and tensors without space) or from one pixel to the
 * next (channels last). 0: dense. Otherwise it is at least the elements of a sample (a pixel) of
 * `shape`, at most 2^31 more. Elements between are not written, and what they are does not matter;
 * they may be read, so they must be there. Views of one buffer may interleave if they have the same
 * pitch and share no element; with different pitches, the ranges from first to last element must not
 * overlap. A tensor that is written over another one has the other's pitch. residual and
 * residual_grad are dense, so residual_grad may be dy only where dy is dense. The bits are those of
 * dense tensors.
 *
 * Running statistics. With running_mean and running_var a layer that has running statistics uses
 * these buffers in the place of its own mean and variance, by the same settings; the number of
 * batches stays the layer's. sbn_forward in training updates them, as outputs, on each replica that
 * has them, unless SBN_KEEP_RUNNING_STATS is given: from equal values all replicas of all ranks come
 * to the same bits. Host-combined, the host does so before it enqueues outputs: on an in-order queue
 * sbn_pass_end may wait for what you have enqueued since the beginning of the pass. End a pass that
 * updates them before you begin another one that does. sbn_evaluate, and sbn_forward in evaluation or
 * frozen, wait for those of the first shard that has them, read them for all replicas, and leave a
 * copy in the layer, even if they fail then. The layer's own are otherwise neither read nor written;
 * checkpoints and folding know only those.
 *
 * Host memory. With SBN_MEMORY_HOST all buffers of the shard are addresses of the host, aligned for
 * their type. On CPUs whose driver uses such memory as it is (PoCL's do), nothing is copied;
 * elsewhere it is. Outputs are complete when the call that makes them returns: sbn_pass_end, and
 * those that begin and end a pass, wait for the queue then, also for your commands on it. Until then,
 * after an error too, the memory must stay. Where it is copied, begin functions wait, too: for
 * `wait_list` and for what is on an in-order queue. The sizes of the buffers are not known here, so
 * they are not checked. Replicas of both kinds may be in one call. A view that is written needs memory
 * that is not copied.
 */
typedef struct sbn_shard {
    size_t size;     /* sizeof(sbn_shard) */
    int dims;        /* how many numbers of `shape` count: 2 ... 5 */
    size_t shape[5]; /* N, C, then space, in both layouts; N and the extents of space may be 0 */
    sbn_buffer x;    /* input; of `shape` and the layer's type */
    sbn_buffer y;    /* output; as x */
    sbn_buffer dy;   /* gradient of y; as x */
    sbn_buffer dx;   /* gradient of x, as x; mem NULL: not wanted */
    sbn_buffer residual;                /* as x; read if the layer adds a residual */
    sbn_buffer residual_grad;           /* gradient of the residual, as x; mem NULL: not wanted */
    sbn_buffer weight;                  /* gamma: C floats; read if the layer is affine */
    sbn_buffer bias;                    /* beta: C floats; read if the layer is affine */
    sbn_buffer weight_grad;             /* C floats; mem NULL: not wanted */
    sbn_buffer bias_grad;               /* C floats; mem NULL: not wanted */
    uint32_t num_wait;                  /* events in wait_list */
    struct _cl_event *const *wait_list; /* a const cl_event *; not read if num_wait is 0 */
    struct _cl_event **event;           /* a cl_event *, or NULL */
    size_t x_pitch;                     /* of a view: see above; 0: dense */
    size_t y_pitch;                     /* of y, as x_pitch */
    size_t dy_pitch;                    /* of dy, as x_pitch */
    size_t dx_pitch;                    /* of dx, as x_pitch */
    sbn_memory memory;                  /* of all buffers: see above */
    sbn_buffer running_mean;            /* C floats; mem NULL: the layer's own. See above */
    sbn_buffer running_var;             /* as running_mean; both or neither */
} sbn_shard;

#define SBN_SHARD_INIT \
    { \
        sizeof(sbn_shard), 0, {0, 0, 0, 0, 0}, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT, 0, NULL, NULL, 0, 0, 0, 0, SBN_MEMORY_DEVICE, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT \
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
