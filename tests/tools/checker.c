/*
 * The checker's own test: a small model of the library, in floats and blocks as the design says, with
 * what follows a batch norm, is accepted; the same model with one deliberate fault is not. A tolerance
 * that lets a fault through is vacuous; that none is too narrow is tests/tools/check.sh.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check/compare.h"
#include "support/tap.h"
#include "tools/checker_model.h"

/* On exact data nothing but the apply's own roundings is tolerated. */
static const char plain_data[] = "mb8ic4ih14iw14,r2";
static const char step_data[] = "mb1ic64ih16iw16,data=step,grad=step";
static const char exact_data[] = "mb8ic4ih16iw16,r2,data=exact,grad=exact";

static const char half_data[] = "mb8ic4ih14iw14,f16,r2,grad=denormal";
static const char bfloat_data[] = "mb8ic4ih14iw14,bf16,r2";
static const char overflowing_data[] = "mb8ic4ih14iw14,f16,r2,data=tiny_var,grad=huge";

static const struct {
    fault_kind fault;
    const char *name, *problem;
} faults[] = {
    {UNBIASED, "unbiased variance", plain_data},
    {PER_REPLICA, "per-replica statistics", plain_data},
    {ULPS_Y, "one y 64 ulp off", plain_data},
    {ULPS_DX, "one dx 64 ulp off", plain_data},
    {ULPS_MEAN, "one mean 64 ulp off", plain_data},
    {NO_EPS, "eps left out", plain_data},
    {NO_MEAN_GRADIENT, "dx without the mean of dy", plain_data},
    {NO_VAR_GRADIENT, "dx without the variance's term", plain_data},
    {ONE_MISSING, "one value left out", plain_data},
    {RUNNING_BIASED, "running_var biased", plain_data},
    {STALE_RUNNING, "running statistics not updated", plain_data},
    {FLIPPED_BIT, "recomputed y one ulp off", plain_data},
    {NAIVE_Y, "y = a x + b", exact_data},
    {NAIVE_DX, "dx = p dy + ...", exact_data},
    {UNBIASED, "unbiased variance", exact_data},
    {POOR_PIVOT, "poor pivots", step_data},
    {POOR_PIVOT, "poor pivots of zeros", "mb1ic64ih16iw16,data=border,grad=border"},
    {STORED_DOWN, "half rounded towards zero", half_data},
    {STORED_DOWN, "bfloat rounded towards zero", bfloat_data},
    {STORED_TWICE, "half rounded twice", "mb8ic16ih28iw28,f16,r2"},
    {STORED_TWICE, "bfloat rounded twice", "mb8ic16ih28iw28,bf16,r2"},
    {STORED_FLUSHED, "subnormal halves flushed", half_data},
    {STORED_SATURATED, "overflow of halves saturated", overflowing_data},
    {STORED_OVERFLOWN, "large halves made infinite", overflowing_data},
    {STEP_Y, "one half the next one", half_data},
    {STEP_Y, "one bfloat the next one", bfloat_data},
    {MEAN_STORED, "the mean as a half", half_data},
    {MEAN_STORED, "the mean as a bfloat", bfloat_data},
    {UNBIASED, "unbiased variance, bfloat", bfloat_data},
    {NO_MEAN_GRADIENT, "dx without the mean of dy, bfloat", bfloat_data},
    {NO_VAR_GRADIENT, "dx without the variance's term, bfloat", bfloat_data},
    {ONE_MISSING, "one value left out, half", "mb8ic4ih14iw14,f16,r2"},
    {NO_ACTIVATION, "y without the ReLU", "mb8ic4ih14iw14,relu"},
    {NO_ACTIVATION, "y without the leaky ReLU", "mb8ic4ih14iw14,leaky"},
    {NO_RESIDUAL, "y without the residual", "mb8ic4ih14iw14,add"},
    {NO_RESIDUAL, "y without the residual, ReLU", "mb8ic4ih14iw14,bf16,relu,add"},
    {ACTIVATION_FIRST, "the residual behind the ReLU", "mb8ic4ih14iw14,relu,add"},
    {STORED_BETWEEN, "a half before the addition", "mb8ic4ih14iw14,f16,add"},
    {STORED_BETWEEN, "a bfloat before the addition", "mb8ic4ih14iw14,bf16,relu,add"},
    {SLOPE_OFF, "the slope a unit off", "mb8ic4ih14iw14,leaky"},
    {NAN_IS_ZERO, "ReLU of NaN is 0", "mb8ic4ih14iw14,relu,data=nan"},
    {EVALUATED_PLAIN, "evaluation without the ReLU", "mb8ic4ih14iw14,relu"},
    {EVALUATED_ALONE, "evaluation without the residual", "mb8ic4ih14iw14,f16,add"},
    {DY_WHOLE, "dx of all of dy, ReLU", "mb8ic4ih14iw14,relu"},
    {DY_WHOLE, "dx of all of dy, leaky ReLU", "mb8ic4ih14iw14,bf16,leaky=0.9"},
    {SUMS_WHOLE, "sums of all of dy", "mb8ic4ih14iw14,f16,relu,add"},
    {ZERO_PASSES, "ReLU passes dy at 0", "mb8ic4ih14iw14,relu,data=zero,plain"},
    {ZERO_PASSES, "leaky ReLU passes dy at 0", "mb8ic4ih14iw14,leaky,data=zero,plain"},
    {SIGN_OF_NORM, "the sign before the residual", "mb8ic4ih14iw14,relu,add"},
    {SIGN_OF_STORED, "the sign of what is stored",
     "mb8ic4ih14iw14,f16,relu,data=denormal,plain,eps=100"},
    {SIGN_FLIPPED, "one sign", "mb8ic4ih14iw14,relu"},
    {SIGN_FLIPPED, "one sign, with a residual", "mb8ic4ih14iw14,relu,add"},
    {SIGN_FLIPPED, "one sign, bfloat", "mb8ic4ih14iw14,bf16,leaky"},
    {GRADIENT_WHOLE, "the residual's gradient is dy", "mb8ic4ih14iw14,f16,relu,add"},
    {GRADIENT_IS_DX, "the residual's gradient is dx", "mb8ic4ih14iw14,add"},
};

/* Runs the model on a problem and judges it. */
static int accepted(const char *line, fault_kind fault, char *why, size_t size)
{
    problem p;
    placement g;
    inputs in;
    outputs out;
    comparison result;
    if (problem_parse(line, &p, why, size) || placement_make(&p, 2, &g) || inputs_make(&p, &g, &in))
        abort();
    checker_model_run(&p, &g, &in, fault, &out);
    if (compare(&p, &g, &in, &out, &result))
        abort();
    for (int id = 0; id < OUTPUTS; ++id) {
        int length = snprintf(why, size, " %s %.2g", output_names[id], result.of[id].ratio);
        why += length;
        size -= (size_t)length;
    }
    outputs_free(&out);
    inputs_free(&in);
    placement_free(&g);
    return result.ok;
}

int main(void)
{
    char why[1024];
    int seen[FAULTS] = {1};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        const char *line = faults[i].problem;
        const int right = accepted(line, NONE, why, sizeof why);
        tap_ok(right, "the model is accepted: %s:%s", line, why);
        const int wrong = accepted(line, faults[i].fault, why, sizeof why);
        tap_ok(!wrong, "refused: %s:%s", faults[i].name, why);
        seen[faults[i].fault] = 1;
    }
    for (int fault = 0; fault < FAULTS; ++fault)
        if (!seen[fault])
            tap_ok(0, "fault %d has a problem", fault);
    return tap_done();
}
