/*
 * Batch normalisation in float64 from its definition, sharing no source with
 * the library: two passes for mean and variance, compensated sums, the exact
 * x, one channel after the other.
 *
 *   Ioffe & Szegedy 2015, algorithm 1 and section 3; running statistics as in
 *   PyTorch's BatchNorm (running_var from the unbiased variance).
 */
#pragma once

#include "check/inputs.h"

/* Rounding unit of float. */
#define BOUND_UNIT 0x1p-24

/* Sums over the samples of one replica, or of all. */
typedef struct gradient_sums {
    double dy;          /* sum of dy */
    double dy_centered; /* sum of dy (x - mean) */
    int may_be_nan;     /* of bounds: on the way to dy_centered a float may overflow */
} gradient_sums;

/* How far the library may be from a channel's numbers: see bounds.h. */
typedef struct channel_bounds {
    double mean, var;  /* absolute */
    double invstd;     /* relative, from var; infinite when var + eps is not bounded away from 0 */
    int may_clamp;     /* with the error of var either side of eps is possible */
    gradient_sums all; /* absolute */
} channel_bounds;

typedef struct reference_channel {
    double mean,
        var; /* biased; NaN when the channel holds a NaN or an infinity, the mean by IEEE */
    double invstd;
    int clamped; /* eps replaced the variance: no gradient passes through it */
    gradient_sums all;
    double running_mean, running_var; /* after the forward pass */
    channel_bounds bound;
} reference_channel;

typedef struct reference {
    double count;
    int frozen; /* mean and variance are constants: no gradient passes through them */
    reference_channel *channel;
    gradient_sums *local;       /* of replica r, channel c: local[c * replicas + r] */
    gradient_sums *local_bound; /* of the same */
    double factor;              /* of this batch in the running statistics; -1: not updated */
    int64_t batches;            /* after the forward pass */
} reference;

/* All but the bounds, which are 0. Returns SBN_SUCCESS or SBN_OUT_OF_MEMORY. */
int reference_make(const problem *p, const placement *g, const inputs *in, reference *ref);
void reference_free(reference *ref);

/* 1 / sqrt(var + eps), or its clamped form. */
double reference_invstd(const problem *p, double var);

/* y = weight (x - mean) invstd + bias; dx as in pass.h. `weight` is 1 where there is none. */
double reference_y(const reference_channel *ch, double weight, double bias, double x);
double reference_dx(const reference *ref, const reference_channel *ch, double weight, double x,
                    double dy);
