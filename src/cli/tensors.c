/* A replica's buffers. */
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

/* Elements behind the contents that nobody may touch, and what they hold. */
enum { GUARD = 16 };
static const float guard_value = -7.7777e33f;

/* How many floats a tensor has on replica r. */
static size_t contents(const geometry *g, size_t r, tensor_id id)
{
    int vector = id >= TENSOR_WEIGHT && id <= TENSOR_BIAS_GRAD;
    return vector ? g->channels : geometry_share(g, r);
}

/* What the device sees before the passes. */
static void stage(const problem *p, const geometry *g, const inputs *in, size_t r, tensor_id id,
                  float *at)
{
    const float *vectors[TENSORS] = {
        [TENSOR_WEIGHT] = in->weight,
        [TENSOR_BIAS] = in->bias,
        [TENSOR_WEIGHT_GRAD] = in->weight_before,
        [TENSOR_BIAS_GRAD] = in->bias_before,
    };
    int gradient = id == TENSOR_WEIGHT_GRAD || id == TENSOR_BIAS_GRAD;
    if (id == TENSOR_X || id == TENSOR_DY) {
        geometry_scatter(g, p->layout, r, id == TENSOR_X ? in->x : in->dy, at);
    } else if (vectors[id] && (!gradient || p->backward_flags & SBN_ACCUMULATE_GRADIENTS)) {
        memcpy(at, vectors[id], g->channels * sizeof *at);
    }
}

static int make_one(const problem *p, const geometry *g, const inputs *in, size_t r, tensor_id id,
                    tensors *t)
{
    cl_int status;
    cl_context context;
    t->count[id] = contents(g, r, id);
    /* Offsets differ between tensors, so that x may be aligned where y is not. */
    t->offset[id] = p->offset * (1 + (size_t)id % 3);
    size_t size = t->offset[id] + t->count[id] + GUARD;
    float *staging = t->staging[id] = malloc(size * sizeof *staging);
    if (!staging) {
        return SBN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < size; i++) {
        staging[i] = guard_value;
    }
    stage(p, g, in, r, id, staging + t->offset[id]);

    status = clGetCommandQueueInfo(t->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (status) {
        return status;
    }
    cl_mem_flags flags = id < TENSOR_WEIGHT_GRAD ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    t->mem[id] = clCreateBuffer(context, flags, size * sizeof(float), NULL, &status);
    if (status) {
        return status;
    }
    status = clEnqueueWriteBuffer(t->queue, t->mem[id], CL_FALSE, 0, size * sizeof(float), staging,
                                  0, NULL, &t->uploaded[t->uploads]);
    t->uploads += status == CL_SUCCESS;
    return status;
}

int tensors_make(const problem *p, const geometry *g, const inputs *in, size_t r,
                 cl_command_queue queue, tensors *t)
{
    int status = SBN_SUCCESS;
    memset(t, 0, sizeof *t);
    t->queue = queue;
    for (int id = 0; id < TENSORS && status == SBN_SUCCESS; id++) {
        status = make_one(p, g, in, r, (tensor_id)id, t);
    }
    clFlush(queue);
    return status;
}

void tensors_free(tensors *t)
{
    if (t->queue) {
        clFinish(t->queue);
    }
    for (cl_uint i = 0; i < t->uploads; i++) {
        clReleaseEvent(t->uploaded[i]);
    }
    for (int id = 0; id < TENSORS; id++) {
        if (t->mem[id]) {
            clReleaseMemObject(t->mem[id]);
        }
        free(t->staging[id]);
    }
    memset(t, 0, sizeof *t);
}

int tensors_overwrite(const tensors *t, tensor_id id)
{
    size_t size = t->offset[id] + t->count[id] + GUARD;
    int status = clEnqueueFillBuffer(t->queue, t->mem[id], &guard_value, sizeof guard_value, 0,
                                     size * sizeof guard_value, 0, NULL, NULL);
    return status ? status : clFinish(t->queue);
}

sbn_buffer tensors_buffer(const tensors *t, tensor_id id)
{
    return (sbn_buffer){.mem = t->mem[id], .offset = t->offset[id]};
}

int tensors_read(const tensors *t, tensor_id id, float *to, int *spoilt)
{
    size_t size = t->offset[id] + t->count[id] + GUARD;
    float *all = malloc(size * sizeof *all);
    if (!all) {
        return SBN_OUT_OF_MEMORY;
    }
    int status = clEnqueueReadBuffer(t->queue, t->mem[id], CL_TRUE, 0, size * sizeof *all, all, 0,
                                     NULL, NULL);
    if (status == CL_SUCCESS) {
        memcpy(to, all + t->offset[id], t->count[id] * sizeof *to);
        for (size_t i = 0; i < size; i++) {
            int inside = i >= t->offset[id] && i < t->offset[id] + t->count[id];
            *spoilt |= !inside && all[i] != guard_value;
        }
    }
    free(all);
    return status;
}
