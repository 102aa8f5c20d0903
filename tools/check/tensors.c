#include "check/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "check/elements.h"

/* Guard elements after the contents of what a pass writes. */
enum { GUARD = 16 };

/*
 * Of replica r's shard: samples, or pixels where channels are last, `gap` apart. A single row where
 * there is no gap, or no element.
 */
static row_layout rows_of_shard(const problem *p, const placement *g, size_t r, size_t gap)
{
    const size_t elements = placement_shard_elements(g, r);
    const size_t length = p->layout == SBN_LAYOUT_NHWC ? g->channels : g->channels * g->plane[r];
    return gap && elements ? (row_layout){elements / length, length, length + gap}
                           : (row_layout){1, elements, 0};
}

/* From the first element to behind the last. */
static size_t rows_extent(const row_layout *rows)
{
    return (rows->count - 1) * rows->pitch + rows->length;
}

/* Rounds floats into the rows' elements in memory. */
static void rows_pack(const row_layout *rows, sbn_type type, const float *values, void *memory)
{
    const size_t pitch = rows->pitch * sbn__type_size(type);
    for (size_t i = 0; i < rows->count; ++i)
        elements_pack(type, values + i * rows->length, rows->length, (char *)memory + i * pitch);
}

/* What a tensor is. */
static const struct {
    int is_vector; /* a value for each channel, always a float; else it is of the problem's type */
    int is_constant; /* no pass writes it */
    unsigned by;     /* the pass that writes it, where another problem does without */
    size_t gap; /* turns of `pitch` between rows; no two tensors of a pass have the same number */
} kinds[TENSORS] = {
    [TENSOR_X] = {0, 1, 0, 1},
    [TENSOR_DY] = {0, 1, 0, 3},
    [TENSOR_WEIGHT] = {1, 1, 0, 0},
    [TENSOR_BIAS] = {1, 1, 0, 0},
    [TENSOR_WEIGHT_GRAD] = {1, 0, 0, 0},
    [TENSOR_BIAS_GRAD] = {1, 0, 0, 0},
    [TENSOR_Y] = {0, 0, PASS_FORWARD, 2},
    [TENSOR_AGAIN] = {0, 0, PASS_RECOMPUTE, 3},
    [TENSOR_EVAL] = {0, 0, PASS_EVALUATE, 2},
    [TENSOR_DX] = {0, 0, PASS_BACKWARD, 2},
    [TENSOR_RESIDUAL_GRAD] = {0, 0, PASS_BACKWARD, 0},
    [TENSOR_RESIDUAL] = {0, 1, 0, 0},
    [TENSOR_RUNNING_MEAN] = {1, 0, 0, 0},
    [TENSOR_RUNNING_VAR] = {1, 0, 0, 0},
};

/* Elements between the rows of a view. */
static size_t gap_of(const problem *p, tensor_id id)
{
    const int is_gradient = id == TENSOR_DY || id == TENSOR_DX;
    if ((p->viewed == VIEWED_X && id != TENSOR_X) ||
        (p->viewed == VIEWED_GRADIENTS && !is_gradient))
        return 0;
    return kinds[id].gap * p->gap;
}

tensor_id tensors_gradient(const problem *p)
{
    return !p->in_place                                  ? TENSOR_DY
           : p->residual && p->layout == SBN_LAYOUT_NCHW ? TENSOR_RESIDUAL_GRAD
                                                         : TENSOR_DX;
}

int tensors_is_in_place(const problem *p, tensor_id id)
{
    return p->in_place && (id == TENSOR_AGAIN || id == TENSOR_EVAL ||
                           (id == TENSOR_Y && (p->from_output || p->frozen)));
}

/* 1 if it has contents before the passes. */
static int is_input(const problem *p, tensor_id id)
{
    if (id == TENSOR_WEIGHT_GRAD || id == TENSOR_BIAS_GRAD)
        return (p->backward_flags & SBN_ACCUMULATE_GRADIENTS) != 0;
    return kinds[id].is_constant || id >= TENSOR_RUNNING_MEAN || id == tensors_gradient(p) ||
           tensors_is_in_place(p, id);
}

/* 1 if a pass of the problem uses it on replica r. */
static int is_used(const problem *p, size_t r, tensor_id id)
{
    if (!p->residual && (id == TENSOR_RESIDUAL || id == TENSOR_RESIDUAL_GRAD))
        return 0;
    if ((id == TENSOR_DX && p->no_dx) || (id == TENSOR_RESIDUAL_GRAD && p->no_residual_grad))
        return 0;
    if (id >= TENSOR_RUNNING_MEAN)
        return p->given && r + 1 >= p->given;
    return !kinds[id].by || p->passes & kinds[id].by;
}

/* An input's elements into `at`. */
static int stage(const problem *p, const placement *g, const inputs *in, size_t r, tensor_id id,
                 const tensors *t, void *at)
{
    const float *vectors[TENSORS] = {
        [TENSOR_WEIGHT] = in->weight,
        [TENSOR_BIAS] = in->bias,
        [TENSOR_WEIGHT_GRAD] = in->weight_before,
        [TENSOR_BIAS_GRAD] = in->bias_before,
        [TENSOR_RUNNING_MEAN] = in->running_mean,
        [TENSOR_RUNNING_VAR] = in->running_var,
    };
    if (vectors[id]) {
        memcpy(at, vectors[id], g->channels * sizeof(float));
        return SBN_SUCCESS;
    }
    float *shard = malloc((t->count[id] + 1) * sizeof *shard);
    if (!shard)
        return SBN_OUT_OF_MEMORY;
    const int is_dy = id == TENSOR_DY || id == tensors_gradient(p);
    placement_move(g, p->layout, r, 0,
                   id == TENSOR_RESIDUAL ? in->residual
                   : is_dy               ? in->dy
                                         : in->x,
                   shard);
    rows_pack(&t->rows[id], p->type, shard, at);
    free(shard);
    return SBN_SUCCESS;
}

size_t tensors_size(const tensors *t, tensor_id id)
{
    const size_t size = t->offset[id] + rows_extent(&t->rows[id]);
    /*
     * Nothing behind what is only read: tests/device/races.sh sees reads past its end. The benchmark copies words of
     * 32 bits.
     */
    const size_t of_word = sizeof(float) / sbn__type_size(t->type[id]);
    return !kinds[id].is_constant ? size + GUARD : (size > 0 ? size + size % of_word : of_word);
}

/* Fills all of its memory with the guards' value, or enqueues that. */
static int spoil(const tensors *t, tensor_id id, cl_event *event)
{
    const size_t element = sbn__type_size(t->type[id]);
    float value;
    if (t->on_host) {
        elements_spoil(t->type[id], tensors_size(t, id), (void *)t->mem[id]);
        return SBN_SUCCESS;
    }
    elements_spoil(t->type[id], 1, &value);
    return clEnqueueFillBuffer(t->queue, t->mem[id], &value, element, 0,
                               tensors_size(t, id) * element, 0, NULL, event);
}

/* Starts to fill the buffer: an input with its guards, or all of it with what guards hold. */
static int upload(const problem *p, const placement *g, const inputs *in, size_t r, tensor_id id,
                  tensors *t)
{
    const size_t element = sbn__type_size(t->type[id]), size = tensors_size(t, id) * element;
    if (!is_input(p, id) || t->on_host) {
        const int status = spoil(t, id, &t->uploaded[t->uploads]);
        return status || !is_input(p, id)
                   ? status
                   : stage(p, g, in, r, id, t, (char *)t->mem[id] + t->offset[id] * element);
    }
    char *staging = t->staging[id] = malloc(size);
    if (!staging)
        return SBN_OUT_OF_MEMORY;
    elements_spoil(t->type[id], tensors_size(t, id), staging);
    int status = stage(p, g, in, r, id, t, staging + t->offset[id] * element);
    return status ? status
                  : clEnqueueWriteBuffer(t->queue, t->mem[id], CL_FALSE, 0, size, staging, 0, NULL,
                                         &t->uploaded[t->uploads]);
}

static int make_one(const problem *p, const placement *g, const inputs *in, size_t r, tensor_id id,
                    tensors *t)
{
    cl_int status;
    cl_context context;
    t->type[id] = kinds[id].is_vector ? SBN_F32 : p->type;
    t->count[id] = kinds[id].is_vector ? g->channels : placement_shard_elements(g, r);
    t->rows[id] = kinds[id].is_vector ? (row_layout){1, g->channels, 0}
                                      : rows_of_shard(p, g, r, gap_of(p, id));
    /* Offsets differ between tensors, so that x may be aligned where y is not. */
    t->offset[id] = p->offset * (1 + (size_t)id % 3);
    const size_t size = tensors_size(t, id) * sbn__type_size(t->type[id]);
    if (t->on_host) {
        t->mem[id] = malloc(size);
        return t->mem[id] ? upload(p, g, in, r, id, t) : SBN_OUT_OF_MEMORY;
    }
    status = clGetCommandQueueInfo(t->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (status)
        return status;
    cl_mem_flags flags = kinds[id].is_constant ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    t->mem[id] = clCreateBuffer(context, flags, size, NULL, &status);
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
    t->on_host = p->memory != PROBLEM_BUFFERS;
    for (int id = 0; id < TENSORS && status == SBN_SUCCESS; ++id)
        status = is_used(p, r, (tensor_id)id) ? make_one(p, g, in, r, (tensor_id)id, t)
                                              : SBN_SUCCESS;
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
        if (t->on_host)
            free(t->mem[id]);
        else if (t->mem[id])
            clReleaseMemObject(t->mem[id]);
        free(t->staging[id]);
    }
    memset(t, 0, sizeof *t);
}

int tensors_overwrite(const tensors *t, tensor_id id)
{
    int status = spoil(t, id, NULL);
    return status ? status : clFinish(t->queue);
}

int tensors_read_memory(const tensors *t, tensor_id id, void *to)
{
    const size_t size = tensors_size(t, id) * sbn__type_size(t->type[id]);
    if (t->on_host) {
        memcpy(to, t->mem[id], size);
        return SBN_SUCCESS;
    }
    return clEnqueueReadBuffer(t->queue, t->mem[id], CL_TRUE, 0, size, to, 0, NULL, NULL);
}

int tensors_read(const tensors *t, tensor_id id, float *to, int *spoilt)
{
    const row_layout *rows = &t->rows[id];
    const size_t element = sbn__type_size(t->type[id]), size = tensors_size(t, id) * element;
    char *memory = malloc(size);
    float guard; /* room for an element of any type */
    const int status = memory ? tensors_read_memory(t, id, memory) : SBN_OUT_OF_MEMORY;
    for (size_t i = 0; !status && i < rows->count; ++i) {
        char *row = memory + (t->offset[id] + i * rows->pitch) * element;
        elements_unpack(t->type[id], row, rows->length, to + i * rows->length);
        elements_spoil(t->type[id], rows->length, row);
    }
    /* Now all of it is what guards hold: the first element, and each is as the one before it. */
    elements_spoil(t->type[id], 1, &guard);
    if (!status)
        *spoilt |= memcmp(memory, &guard, element) != 0 ||
                   memcmp(memory, memory + element, size - element) != 0;
    free(memory);
    return status;
}

sbn_buffer tensors_buffer(const tensors *t, tensor_id id)
{
    return (sbn_buffer){.mem = t->mem[id], .offset = t->offset[id]};
}
