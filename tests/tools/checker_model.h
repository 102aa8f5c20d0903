/*
 * A small model of the library, in floats and blocks as the design says, with what follows a batch norm,
 * and its faults.
 */
#ifndef TESTS_TOOLS_CHECKER_MODEL_H
#define TESTS_TOOLS_CHECKER_MODEL_H

#include "check/inputs.h"
#include "check/outputs.h"

typedef enum fault_kind {
    NONE,
    UNBIASED,    /* normalises by n - 1 */
    PER_REPLICA, /* each replica's own statistics */
    ULPS_Y,      /* one y, dx or mean is 64 units in the last place off */
    ULPS_DX,
    ULPS_MEAN,
    NO_EPS,
    NO_MEAN_GRADIENT, /* dx without the mean of dy */
    NO_VAR_GRADIENT,  /* dx without the term through the variance */
    ONE_MISSING,      /* the last value is left out of the sums */
    RUNNING_BIASED,   /* running_var from the biased variance */
    STALE_RUNNING,    /* running statistics not updated */
    FLIPPED_BIT,      /* recomputation one unit off */
    POOR_PIVOT,       /* no block is summed again */
    NAIVE_Y,          /* y = a x + b: the mean cancels late */
    NAIVE_DX,         /* dx without taking the mean from dy first */
    STORED_DOWN,      /* y and dx rounded towards zero when they are stored */
    STORED_TWICE,     /* y and dx rounded to two bits more first */
    STORED_FLUSHED,   /* subnormal results become 0 */
    STORED_SATURATED, /* overflow becomes the largest finite number */
    STORED_OVERFLOWN, /* numbers from 2^15 on become infinite */
    STEP_Y,           /* one y is the next number of the type */
    MEAN_STORED,      /* the mean that y is made of is rounded to the type */
    NO_ACTIVATION,    /* of y */
    NO_RESIDUAL,      /* y without it */
    ACTIVATION_FIRST, /* the residual is added behind the activation */
    STORED_BETWEEN,   /* rounded to the type before the residual is added */
    SLOPE_OFF,        /* by a unit in the last place */
    NAN_IS_ZERO,      /* as max(z, 0) has it on some devices */
    EVALUATED_PLAIN,  /* evaluation without the activation */
    EVALUATED_ALONE,  /* evaluation without the residual */
    DY_WHOLE,         /* backward without the activation */
    SUMS_WHOLE,       /* the same, of the sums alone */
    ZERO_PASSES,      /* dy passes where z is 0 */
    SIGN_OF_NORM,     /* of the batch norm's y, before the residual */
    SIGN_OF_STORED,   /* of y as it is stored */
    SIGN_FLIPPED,     /* one, of the z nearest to 0 */
    GRADIENT_WHOLE,   /* the residual's gradient is dy */
    GRADIENT_IS_DX,
    FAULTS
} fault_kind;

/* Runs the passes on all replicas; outputs_free frees the results. No memory ends the program. */
void checker_model_run(const problem *p, const placement *g, const inputs *in, fault_kind fault,
                       outputs *out);

#endif
