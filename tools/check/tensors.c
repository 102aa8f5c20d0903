/* A replica's buffers. */
#include "check/tensors.h"

#include <stdlib.h>
#include <string.h>

/* Guard elements after the contents, and their value. */
enum { GUARD = 16 };
static const float guard_value = -7.7777e33f;

/* How many floats a tensor has on replica r. */
static size_t contents(const placement *g, size_t r, tensor_id id)
{
    int vector = id >= TENSOR_WEIGHT && id <= TENSOR_BIAS_GRAD;
    return vector ? g->channels : placement_shard_elements(g, r);
}

/* 1 if it has contents before the passes. */
static int is_input(const problem *p, tensor_id id)
{
    int gradient = id == TENSOR_WEIGHT_GRAD || id == TENSOR_BIAS_GRAD;
    return id < TENSOR_WEIGHT_GRAD || (gradient && p->backward_flags & SBN_ACCUMULATE_GRADIENTS);
}

/* 1 if a pass of the problem uses it. */
static int is_used(const problem *p, tensor_id id)
{
    static const unsigned by[TENSORS] = {
        [TENSOR_Y] = PASS_FORWARD,
        [TENSOR_AGAIN] = PASS_RECOMPUTE,
        [TENSOR_EVAL] = PASS_EVALUATE,
        [TENSOR_DX] = PASS_BACKWARD,
    };
    return !by[id] || p->passes & by[id];
}

static void stage(const problem *p, const placement *g, const inputs *in, size_t r, tensor_id id,
                  float *at)
{
    const float *vectors[TENSORS] = {
        [TENSOR_WEIGHT] = in->weight,
        [TENSOR_BIAS] = in->bias,
        [TENSOR_WEIGHT_GRAD] = in->weight_before,
        [TENSOR_BIAS_GRAD] = in->bias_before,
    };
    if (vectors[id])
        memcpy(at, vectors[id], g->channels * sizeof *at);
    else
        placement_scatter(g, p->layout, r, id == TENSOR_X ? in->x : in->dy, at);
}

static size_t size_of(const tensors *t, tensor_id id)
{
    return t->offset[id] + t->count[id] + GUARD;
}

/* Starts to fill the buffer: an input with its guards, or all of it with what guards hold. */
static int upload(const problem *p, const placement *g, const inputs *in, size_t r, tensor_id id,
                  tensors *t)
{
    size_t size = size_of(t, id) * sizeof(float);
    if (!is_input(p, id)) {
        return clEnqueueFillBuffer(t->queue, t->mem[id], &guard_value, sizeof guard_value, 0, size,
                                   0, NULL, &t->uploaded[t->uploads]);
    }
    float *staging = t->staging[id] = malloc(size);
    if (!staging)
        return SBN_OUT_OF_MEMORY;
    for (size_t i = 0; i < t->offset[id]; ++i)
        staging[i] = guard_value;
    for (size_t i = 0; i < GUARD; ++i)
        staging[t->offset[id] + t->count[id] + i] = guard_value;
    stage(p, g, in, r, id, staging + t->offset[id]);
    return clEnqueueWriteBuffer(t->queue, t->mem[id], CL_FALSE, 0, size, staging, 0, NULL,
                                &t->uploaded[t->uploads]);
}

static int make_one(const problem *p, const placement *g, const inputs *in, size_t r, tensor_id id,
                    tensors *t)
{
    cl_int status;
    cl_context context;
    t->count[id] = contents(g, r, id);
    /* Offsets differ between tensors, so that x may be aligned where y is not. */
    t->offset[id] = p->offset * (1 + (size_t)id % 3);
    status = clGetCommandQueueInfo(t->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (status)
        return status;
    cl_mem_flags flags = id < TENSOR_WEIGHT_GRAD ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    t->mem[id] = clCreateBuffer(context, flags, size_of(t, id) * sizeof(float), NULL, &status);
    if (status)
        return status;
    status = upload(p, g, in, r, id, t);
    t->uploads += status == CL_SUCCESS;
    return status;
}

int tensors_make(const problem *p, const placement *g, const inputs *in, size_t r,
                 cl_command_queue queue, tensors *t)
{
    int status = SBN_SUCCESS;
    memset(t, 0, sizeof *t);
    t->queue = queue;
    for (int id = 0; id < TENSORS && status == SBN_SUCCESS; ++id)
        status = is_used(p, (tensor_id)id) ? make_one(p, g, in, r, (tensor_id)id, t) : SBN_SUCCESS;
    clFlush(queue);
    return status;
}

void tensors_free(tensors *t)
{
    if (t->queue)
        clFinish(t->queue);
    for (cl_uint i = 0; i < t->uploads; ++i)
        clReleaseEvent(t->uploaded[i]);
    for (int id = 0; id < TENSORS; ++id) {
        if (t->mem[id])
            clReleaseMemObject(t->mem[id]);
        free(t->staging[id]);
    }
    memset(t, 0, sizeof *t);
}

int tensors_overwrite(const tensors *t, tensor_id id)
{
    int status = clEnqueueFillBuffer(t->queue, t->mem[id], &guard_value, sizeof guard_value, 0,
                                     size_of(t, id) * sizeof guard_value, 0, NULL, NULL);
    return status ? status : clFinish(t->queue);
}

/* Checks the guard elements from there on. */
static int read_guard(const tensors *t, tensor_id id, size_t from, size_t count, int *spoilt)
{
    float guard[GUARD];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < GUARD ? count - done : GUARD;
        int status = clEnqueueReadBuffer(t->queue, t->mem[id], CL_TRUE,
                                         (from + done) * sizeof *guard, n * sizeof *guard, guard, 0,
                                         NULL, NULL);
        if (status)
            return status;
        for (size_t i = 0; i < n; ++i)
            *spoilt |= guard[i] != guard_value;
        done += n;
    }
    return SBN_SUCCESS;
}

int tensors_read(const tensors *t, tensor_id id, float *to, int *spoilt)
{
    size_t start = t->offset[id], count = t->count[id];
    int status = read_guard(t, id, 0, start, spoilt);
    status = status ? status : read_guard(t, id, start + count, GUARD, spoilt);
    return status || count == 0
               ? status
               : clEnqueueReadBuffer(t->queue, t->mem[id], CL_TRUE, start * sizeof *to,
                                     count * sizeof *to, to, 0, NULL, NULL);
}

sbn_buffer tensors_buffer(const tensors *t, tensor_id id)
{
    return (sbn_buffer){.mem = t->mem[id], .offset = t->offset[id]};
}
