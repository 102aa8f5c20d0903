/*
 * One replica's buffers: its shards of a problem's tensors, each at an offset
 * and between guards, in its own memory object or memory of the host; a view has
 * guards between its rows, too. What is only read has none behind it.
 */
#pragma once

#include "program/opencl.h"
#include "check/inputs.h"
#include "check/outputs.h"

typedef enum tensor_id {
    TENSOR_X, /* the inputs */
    TENSOR_DY,
    TENSOR_WEIGHT,
    TENSOR_BIAS,
    TENSOR_WEIGHT_GRAD, /* written, and read when gradients accumulate */
    TENSOR_BIAS_GRAD,
    TENSOR_Y, /* written */
    TENSOR_AGAIN,
    TENSOR_EVAL,
    TENSOR_DX,
    TENSOR_RESIDUAL_GRAD,
    TENSOR_RESIDUAL,     /* an input */
    TENSOR_RUNNING_MEAN, /* given, and updated */
    TENSOR_RUNNING_VAR,
    TENSORS
} tensor_id;

/* Rows of equal length, in elements; a dense tensor is a single row, with a pitch of 0. */
typedef struct row_layout {
    size_t count, length, pitch;
} row_layout;

typedef struct tensors {
    cl_command_queue queue; /* borrowed */
    int on_host;
    cl_mem mem[TENSORS]; /* on the host: addresses */
    sbn_type type[TENSORS];
    size_t offset[TENSORS], count[TENSORS]; /* in elements */
    row_layout rows[TENSORS];
    cl_event uploaded[TENSORS]; /* what the passes wait for */
    cl_uint uploads;
    cl_event done;          /* of the last pass that used them */
    void *staging[TENSORS]; /* of inputs, offset included; must outlive the uploads */
} tensors;

/*
 * Makes those of replica r's buffers that the problem's passes touch on `queue` and starts to fill
 * them. What a pass will write holds a value that no right result has. Returns a status; free with
 * tensors_free in any case.
 */
int tensors_make(const problem *p, const placement *g, const inputs *in, size_t r,
                 cl_command_queue queue, tensors *t);
void tensors_free(tensors *t);

/* 1 if the pass that writes it, y of a forward pass, has x in the same place. */
int tensors_is_in_place(const problem *p, tensor_id id);

/* The tensor that has dy: backward overwrites it in place. */
tensor_id tensors_gradient(const problem *p);

/* A tensor as the library takes it. */
sbn_buffer tensors_buffer(const tensors *t, tensor_id id);

/* All of its memory, in elements. */
size_t tensors_size(const tensors *t, tensor_id id);

/* Fills all of a tensor's memory, guards and contents, with the value that no right result has. */
int tensors_overwrite(const tensors *t, tensor_id id);

/* Reads all of its memory, tensors_size elements, as it is. */
int tensors_read_memory(const tensors *t, tensor_id id, void *to);

/*
 * Reads a tensor's contents, widened to floats, into `to` (count[id] of them). *spoilt becomes 1 if
 * something was written before, between or behind them.
 */
int tensors_read(const tensors *t, tensor_id id, float *to, int *spoilt);
