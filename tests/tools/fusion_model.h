/*
 * A model of the library with what follows a batch norm, and its faults. Its statistics are float64's,
 * rounded as the library rounds them.
 */
#ifndef TESTS_TOOLS_FUSION_MODEL_H
#define TESTS_TOOLS_FUSION_MODEL_H

#include "check/inputs.h"
#include "check/outputs.h"

typedef enum fusion_fault {
    NONE,
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
} fusion_fault;

/* Runs all passes on one replica; outputs_free frees the results. No memory ends the program. */
void fusion_model_run(const problem *p, const placement *g, const inputs *in, fusion_fault fault,
                      outputs *out);

#endif
