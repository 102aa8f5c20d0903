/*
 * The numbers of a problem: tensors in global logical order (geometry.h), so
 * that the same global batch results under any split, layout or device.
 */
#pragma once

#include "check/placement.h"

typedef struct inputs {
    float *x, *dy;                      /* `elements` each, values of the problem's type */
    float *residual;                    /* the same; NULL: none is added */
    float *weight, *bias;               /* `channels` each, as all below */
    float *weight_before, *bias_before; /* gradients that a backward may add to */
    float *running_mean, *running_var;  /* before the forward pass */
    int64_t batches;                    /* tracked before it */
} inputs;

/* All arrays: x, dy and the residual, which may be NULL, then the others. */
enum { INPUT_TENSORS = 3, INPUT_ARRAYS = 9 };
typedef struct input_arrays {
    float **of[INPUT_ARRAYS];
} input_arrays;
input_arrays inputs_arrays(inputs *in);

/* Returns SBN_SUCCESS or SBN_OUT_OF_MEMORY. */
int inputs_make(const problem *p, const placement *g, inputs *in);
void inputs_free(inputs *in);
