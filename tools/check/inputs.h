/*
 * The numbers of a problem: tensors in global logical order (geometry.h), so
 * that the same global batch results under any split, layout or device.
 */
#pragma once

#include "check/placement.h"

enum { INPUT_TENSORS = 3, INPUT_ARRAYS = 9 };

typedef struct inputs {
    union {
        struct {
            float *x, *dy;                      /* `elements` each, values of the problem's type */
            float *residual;                    /* the same; NULL: none is added */
            float *weight, *bias;               /* `channels` each, as all below */
            float *weight_before, *bias_before; /* gradients that a backward may add to */
            float *running_mean, *running_var;  /* before the forward pass */
        };
        float *arrays[INPUT_ARRAYS]; /* all of these */
    };
    int64_t batches; /* tracked before it */
} inputs;

/* Returns SBN_SUCCESS or SBN_OUT_OF_MEMORY. */
int inputs_make(const problem *p, const placement *g, inputs *in);
void inputs_free(inputs *in);
